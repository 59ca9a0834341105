-- Serves the discovery of a clock that went back: the cursor that was observed latest. Without it every cycle would
-- read every cursor.
CREATE INDEX trigger_cursors_observed ON tenure.trigger_cursors (last_observed_at DESC, project, trigger)
    WHERE due_at IS NOT NULL;

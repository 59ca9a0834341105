-- Which placement classes have work, and how much, counted no further than a limit.
SELECT * FROM ingress_api.dispatchable_v1($1::integer)

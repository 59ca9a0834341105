#!/usr/bin/env bash
# The worker protocol in curl and jq: takes one command from the queue, runs it, and reports how it ended.
#
#   TENURE_INGRESS_URL=http://127.0.0.1:7401 TENURE_WORKER_TOKEN=tw1_… docs/worker.sh
#
# It shows each call in its order and is no worker to trust: it keeps no journal, so nobody will ever know what
# became of a command whose shell died. Exit code 0: one run was executed and reported; 3: there was none.
set -euo pipefail
: "${TENURE_INGRESS_URL:?is where the ingress listens}" "${TENURE_WORKER_TOKEN:?is what tenure worker enroll showed}"

session=$(cat /proc/sys/kernel/random/uuid)
generation=null

new_id() { cat /proc/sys/kernel/random/uuid; }
now() { date -u +%Y-%m-%dT%H:%M:%S.%6NZ; }

# call NAME JSON: one call of this session, repeated while the server asks for that. The token comes from a
# descriptor, not from the command line, which everybody on a machine can read.
call() {
    local answer status body
    body=$(jq -c --arg id "$(new_id)" --argjson generation "$generation" \
        '{request_id: $id} + (if $generation == null then {} else {generation: $generation} end) + .' <<<"$2")
    while true; do
        answer=$(curl --silent --show-error --max-time 40 --write-out '\n%{http_code}' \
            --config <(printf 'header = "Authorization: Bearer %s"\n' "$TENURE_WORKER_TOKEN") \
            --header 'Content-Type: application/json' --data-binary "$body" \
            "$TENURE_INGRESS_URL/v1/sessions/$session/$1")
        status=${answer##*$'\n'}
        answer=${answer%$'\n'*}
        [[ $status == 200 ]] && break
        if [[ $(jq -r .disposition <<<"$answer") != retry ]]; then
            echo "$1: $answer" >&2
            return 1
        fi
        sleep 1
    done
    printf '%s\n' "$answer"
}

# lease: the fence of the offered attempt, as every call about it wants it.
lease() {
    jq -c --arg token "$token" '{lease: {attempt: .attempt.attempt, offer: .offer, token: $token,
        lease_generation: .lease.lease_generation, lease_version: .lease.lease_version}}' <<<"$offered"
}

registered=$(call register '{"executors": ["command"], "limit": 1, "agent": "worker.sh"}')
generation=$(jq .generation <<<"$registered")
renew_s=$(jq .advice.renew_s <<<"$registered")
call heartbeat '{}' >/dev/null

# The worker invents the offer and its secret, so that a lost answer can be asked for again.
token=$(head -c 32 /dev/urandom | base64 | tr '+/' '-_' | tr -d '=\n')
offer=$(jq -nc --arg offer "$(new_id)" --arg token "$token" '{offers: [{offer: $offer, token: $token}]}')
offered=$(call offers "$offer" | jq -c '.offered[0]')
if [[ $offered == null ]]; then
    call offline '{}' >/dev/null
    exit 3
fi

# Nothing may run before this was answered.
call starting "$(lease)" >/dev/null
mapfile -d '' argv < <(jq -j '.plan.argv[] | ., "\u0000"' <<<"$offered")
output=$(mktemp)
trap 'rm -f "$output"' EXIT
started_at=$(now)
"${argv[@]}" >"$output" 2>&1 &
process=$!
call running "$(lease | jq -c --arg handle "pid:$process" --arg at "$started_at" \
    '. + {executor_handle: $handle, started_at: $at}')" >/dev/null

# Renew while it runs, and stop it when the answer says so.
stop_answer=null
while kill -0 "$process" 2>/dev/null; do
    status=$(call renew "$(lease | jq -c '{leases: [.lease]}')" | jq -r '.leases[0].status')
    if [[ $status != renewed && $status != retry ]]; then
        kill "$process" && stop_answer='"stopped"'
        break
    fi
    for _ in $(seq "${renew_s%.*}"); do
        kill -0 "$process" 2>/dev/null && sleep 1
    done
done
exit_code=0
wait "$process" || exit_code=$?

report=$(jq -nc --argjson code "$exit_code" --arg from "$started_at" --arg to "$(now)" --rawfile output "$output" \
    --argjson stop "$stop_answer" '{outcome: (if $code == 0 then "succeeded" else "failed" end), exit_code: $code,
        started_at: $from, finished_at: $to, output: $output[-1000:], stop_answer: $stop}')
call complete "$(jq -c --argjson lease "$(lease)" '$lease + .' <<<"$report")" | jq -c .
call drain '{}' >/dev/null
call offline '{}' >/dev/null

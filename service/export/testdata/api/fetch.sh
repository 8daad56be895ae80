# sh fetch.sh
# ACME_KEY is the API key
# compared runs: 3 of 3 ok
# no more than 12 of these at once: safe 12 (13 is refused twice), 4.0/s, p95 3.1 s, probed 2026-11-29 14:02
# curl checks the service's own status alone: a wall, or what the service reports with a 200, passes
: "${ACME_KEY:?is not set}" &&
printf 'Authorization: Bearer %s\n' "$ACME_KEY" |
  curl -sS --fail-with-body -H @- \
  -H 'Content-Type: application/json' \
  --data-raw '{"zone":"unlocker_demo","url":"https://shop.test/find?q=it'\''s&x=\"é\"","format":"raw","method":"POST","headers":{"Content-Type":"application/json","X-It":"it'\''s 100%, two"},"body":"{\"name\":\"it'\''s é\"}","country":"de"}' \
  --parallel-max 12 \
  'https://api.test/request'

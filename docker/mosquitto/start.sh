#!/bin/sh
# Starts the broker of compose.yaml, with a password for each user that it invents at the first start.
set -eu
umask 077
for user in sonic2mqtt home; do
  file=/mosquitto/data/$user.password
  [ -s "$file" ] || head -c 32 /dev/urandom | sha256sum | cut -c 1-24 >"$file"
  printf '%s:%s\n' "$user" "$(cat "$file")"
done >/tmp/passwords
mosquitto_passwd -U /tmp/passwords
exec mosquitto -c /mosquitto/config/mosquitto.conf

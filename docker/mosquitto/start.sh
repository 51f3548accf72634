#!/bin/sh
# Starts the broker of compose.yaml, with a user for each of these secrets.
set -eu
umask 077
for user in sonic2mqtt home; do
  password=$(cat "/run/secrets/mqtt_$user")
  case $password in
    '' | *:*) echo "secrets/mqtt_$user must hold a password, without a colon" >&2 && exit 1 ;;
  esac
  printf '%s:%s\n' "$user" "$password"
done >/tmp/passwords
mosquitto_passwd -U /tmp/passwords
exec mosquitto -c /mosquitto/config/mosquitto.conf

"""Calls a cloud with herolabsapi, a client by other authors, and prints the results as one JSON object.

Arguments: base URL, e-mail, password. PYTHONPATH names the folder of the package.
"""

import asyncio
import contextlib
import json
import sys

import herolabsapi.client
from herolabsapi import Client, InvalidCredentialsError


async def use(base_url, email, password):
    herolabsapi.client.BASE_RESOURCE = f"{base_url}/"
    seen = {}
    try:
        await Client.async_login(email, "not the password")
    except InvalidCredentialsError:
        seen["wrong_password"] = "refused"

    client = await Client.async_login(email, password, request_retry_delay=0)
    seen["properties"] = await client.property.async_get_all_property_details()
    seen["signals_total"] = await client.signal.async_get_total_signals()
    seen["sonics"] = await client.sonic.async_get_all_sonic_details()
    seen["open_incidents"] = await client.incidents.async_get_open_incidents()

    property_id = seen["properties"]["data"][0]["id"]
    seen["property"] = await client.property.async_get_property_details(property_id)
    seen["property_signals"] = await client.signal.async_get_signal_details_by_property_id(property_id)
    seen["notifications"] = await client.property.async_update_property_notifications(
        property_id, {"high_volume_threshold_litres": 250}
    )
    seen["settings"] = await client.property.async_update_property_settings(property_id, {"auto_shut_off": True})
    seen["property_incidents"] = await client.incidents.async_get_open_incidents_by_property(property_id)

    signal_id = seen["property_signals"]["data"][0]["id"]
    seen["renamed_signal"] = await client.signal.async_update_signal_details(signal_id, "Attic hub")

    sonic_id = seen["sonics"]["data"][0]["id"]
    seen["renamed_sonic"] = await client.sonic.async_update_sonic_name(sonic_id, "Sink")
    seen["telemetry"] = await client.sonic.async_sonic_telemetry_by_id(sonic_id)
    await client.sonic.async_close_sonic_valve(sonic_id)

    seen["wifi_sonics"] = await client.sonic.async_get_sonic_wifi()

    seen["user"] = await client.user.async_get_user_details()
    seen["changed_user"] = await client.user.async_update_user_details({"last_name": "Byron", "language": "pl"})

    incident_id = seen["open_incidents"][0]["id"]
    await client.incidents.async_close_incident(incident_id)
    seen["closed_incident"] = await client.incidents.async_get_incident_details(incident_id)
    await client.incidents.async_reopen_incident(incident_id)
    seen["reopened_incident"] = await client.incidents.async_get_incident_details(incident_id)

    # The client discards the new token. The next request is answered with 401, and the client signs in again.
    await client.refresh_token()
    seen["after_refresh"] = await client.sonic.async_get_sonic_details(sonic_id)
    await client.invalidate_token()
    seen["after_sign_out"] = await client.sonic.async_get_total_sonics()
    return seen


# The library prints to standard output, which must contain only the result.
with contextlib.redirect_stdout(sys.stderr):
    result = asyncio.run(use(*sys.argv[1:4]))
print(json.dumps(result))

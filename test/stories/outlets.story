@ calm; shut-off; http.listen=127.0.0.1:0; schedules=prompt; schedules.signals=5m

# all screens say the same in this situation

one valve
  = all is well = 0s                                               | good: All good. No leaks, water on.
  = the valve is closed = closed                                   | good: All good. No leaks, water off.
  = a leak = leak                                                  | alarm: Leak at Kitchen, since 09:02. Water is on.
  = a leak, and the valve is closed = leak; closed                 | alarm: Leak at Kitchen, since 09:02. Water is off.
  = a leak, and a refused command = leak; refused                  | alarm: Leak at Kitchen, since 09:02. Its valve did not close: close it by hand.
  = a leak, and the valve is jammed = leak; jammed                 | alarm: Leak at Kitchen, since 09:02. Its valve did not close: close it by hand.
  = a leak, and the hub is offline = leak; hub-offline             | alarm: Leak at Kitchen, since 09:02. Its valve is offline: it can only be closed
                                                                   | by hand.
  = a leak during a pause = paused; leak                           | alarm: Leak at Kitchen, since 09:02. Water is on. Willow Cottage: automatic
                                                                   | shut-off paused until 10:02.
  = a leak before an outage = leak; outage                         | alarm: Leak at Kitchen, since 09:02. No connection to the cloud. The data is from
                                                                   | 09:02. It is not known whether the water is on. Valves can only be closed by
                                                                   | hand.
  = a faulty valve = faulty                                        | warning: Kitchen: the valve reports a fault. A valve with a fault may not move:
                                                                   | then close it by hand. Check its power. If this repeats, contact the vendor.
  = a faulty valve after a refused command = refused; faulty       | warning: Kitchen: the valve reports a fault. A valve with a fault may not move:
                                                                   | then close it by hand. Check its power. If this repeats, contact the vendor. The
                                                                   | command to close Kitchen failed.
  = the hub was read offline once = hub-once                       | warning: Kitchen does not answer. Checking again.
  = the hub is offline = hub-offline                               | warning: Kitchen is offline: the valve cannot report a leak, and can only be
                                                                   | closed by hand.
  = no list has the hub = hub-gone                                 | unknown: Kitchen is unavailable, because its hub was not read. Not all alerts
                                                                   | could be read. sonic2mqtt reports a problem. See Health of the device sonic2mqtt.
  = a leak, and no list has the hub = leak; hub-gone               | alarm: Leak at Kitchen, since 09:02. It is not known whether its valve is closed.
                                                                   | Close the valve by hand. sonic2mqtt reports a problem. See Health of the device
                                                                   | sonic2mqtt.
  = the hub is offline during a pause = paused; hub-offline        | warning: Kitchen is offline: the valve cannot report a leak, and can only be
                                                                   | closed by hand. Willow Cottage: automatic shut-off paused until 10:02.
  = the hub is offline after a refused command = refused; hub-offline
       | warning: Kitchen is offline: the valve cannot report a leak, and can only be closed by hand. The command to close Kitchen failed.
  = the valve is offline = radio off; 3m                           | warning: Connection to hub lost at Kitchen, since 09:02. Its valve is offline: it
                                                                   | can only be closed by hand.
  = a low battery = low                                            | notice: Low battery reported at Kitchen, since 09:02. Water is on.
  = a low battery, and a refused command = low; refused            | warning: The command to close Kitchen failed. You asked at 09:03. The valve was
                                                                   | not moved: the cloud answered 422 (the values are not accepted): The valve is
                                                                   | frozen. One more alert.
  = an outage of a minute = outage                                 | unknown: No connection to the cloud. The data is from 09:01. It is not known
                                                                   | whether the water is on. Valves can only be closed by hand.
  = an outage of six minutes = outage; 5m                          | unknown: No connection to the cloud. The data is from 09:01. It is not known
                                                                   | whether the water is on. Valves can only be closed by hand.
  = an outage during a pause = paused; outage                      | unknown: No connection to the cloud. The data is from 09:02. It is not known
                                                                   | whether the water is on. Valves can only be closed by hand. Willow Cottage:
                                                                   | automatic shut-off paused until 10:02.
  = an outage after a refused command = refused; outage            | unknown: No connection to the cloud. The data is from 09:02. It is not known
                                                                   | whether the water is on. Valves can only be closed by hand. The command to close
                                                                   | Kitchen failed.
  = the sign-in is rejected = cloud denied; 2m                     | unknown: The cloud rejects the sign-in. The data is from 09:01. It is not known
                                                                   | whether the water is on. Valves can only be closed by hand.
  = a pause = paused                                               | notice: No leaks, water on. Willow Cottage: automatic shut-off paused until
                                                                   | 10:02.
  = the shut-off is off = put settings auto_shut_off=false; refresh; 1m
       | good: All good. No leaks, water on.
  = a command = close; 2s                                          | moving: Kitchen is closing.
  = a jammed valve = jammed                                        | warning: Kitchen did not close. You asked at 09:02, the cloud did not confirm it
                                                                   | within 90 s. Look at the valve, it may have moved. Check its power and its
                                                                   | connection.
  = a refused command = refused                                    | warning: The command to close Kitchen failed. You asked at 09:02. The valve was
                                                                   | not moved: the cloud answered 422 (the values are not accepted): The valve is
                                                                   | frozen.
  = a command that the cloud may have carried out = cloud error-503 move; close; 15s
       | warning: The command to close Kitchen failed. You asked at 09:02. Reason: the cloud answered 503 (server error). Look at the valve, it may
       | have moved.
  = a command without a connection = cloud refused move; close; 15s
       | warning: The command to close Kitchen failed. You asked at 09:02. The valve was not moved: connection refused by cloud.example.com.
  = a refused command, and the valve was closed by hand = refused; alert device_handle_moved; closed
       | warning: Handle moved at Kitchen, at 09:02. Water is off.
  = the valve was closed by hand = alert device_handle_moved; closed
       | warning: Handle moved at Kitchen, at 09:02. Water is off.
  = the valve was closed by the shut-off = alert high_volume_alert; closed
       | alarm: High water use at Kitchen, since 09:02. Water is off.
  = a pressure test = valve pressure_test; 2m                      | moving: Kitchen: a pressure test is running.
  = a word that nobody knows = valve half_open; 2m                 | unknown: Kitchen: the position of the valve is not known.
  = the alerts cannot be read = cloud error-500 list_incidents; 6m | unknown: Not all alerts could be read. sonic2mqtt reports a problem. See Health
                                                                   | of the device sonic2mqtt.
  = the valves cannot be read = cloud error-500 list_sonics; 7m    | unknown: No new data from the cloud. The data is from 09:01. It is not known
                                                                   | whether the water is on. Valves can only be closed by hand.
  = the settings are refused = cloud 403 get; refresh; 1m          | warning: No leaks, water on. sonic2mqtt reports a problem. See Health of the
                                                                   | device sonic2mqtt.
  listens; 1m; $2; screens | …

one valve, and nobody may move it from here
  @ control.valves=false
  = a leak that is only watched = leak                             | alarm: Leak at Kitchen, since 09:02. Water is on. Close the valve by hand or in
                                                                   | the vendor’s app.
  = a leak that is only watched, and the valve is closed = leak; closed
       | alarm: Leak at Kitchen, since 09:02. Water is off.
  listens; 1m; $2; screens | …

two valves
  @ world.sonics=2
  = one of two is closed = valve closed sonic2; 2m                 | good: All good. No leaks, Bathroom is closed.
  = a leak at one of two = valve closed sonic2; 2m; leak           | alarm: Leak at Kitchen, since 09:04. Its valve is open.
  = one of two is jammed = jammed                                  | warning: Kitchen did not close. You asked at 09:02, the cloud did not confirm it
                                                                   | within 90 s. Look at the valve, it may have moved. Check its power and its
                                                                   | connection.
  = one of two is faulty, and both are offline = faulty; hub-offline
       | warning: Hub Hallway hub is offline: its 2 valves cannot report a leak, and can only be closed by hand.
  listens; 1m; $2; screens | …

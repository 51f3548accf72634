@ shut-off
watch valve command moved asks status

# a valve that does not obey

is shown in Home Assistant and the log until it obeys, over restarts and outages
  watch command moved      | no command; moved by nobody
  weaken; close; 5s        | closing; close sent; asks action:close
  100s; see last           | warn: Valve "Kitchen" did not close within 90 s. Look at it, then check its power and its connection; open; close
                           | not_confirmed (not confirmed within 90 s), FAILED Kitchen did not close. Look at the valve, it may have moved. Check its
                           | power and its connection.
  restart
  cloud error-503; 20m     | open, unavailable; health cloud_unreachable
  cloud ok; sleep 22h; 23h | open; health ok
  1h                       | close not_confirmed (not confirmed within 90 s)

is not shown as failed any more once its owner has dismissed that, whatever is away
  close; 1s; jam; 2m; see summary                      | Water running too long at Kitchen, since 09:00. Its valve did not close: close it by hand.;
                                                       | closing (shown null); close not_confirmed (not confirmed within 90 s), FAILED Kitchen did not
                                                       | close. Look at the valve, it may have moved. Check its power and its connection.; asks
                                                       | action:close
  cloud refused; 10m; see cloud sonic.dismiss_failure  | cloud offline; dismiss_failure null; closing (shown null), unavailable; health
                                                       | cloud_unreachable
  ask sonic/last_command/dismiss PRESS; 1s; see last   | info: Failed command of valve "Kitchen" dismissed (MQTT command); close not_confirmed (not
                                                       | confirmed within 90 s)
  kill; cloud ok; start; 20m; see summary              | Water running too long at Kitchen, since 09:00. It is not known whether its valve is closed.;
                                                       | closing (shown null); health ok
  weaken; close; 2m                                    | open; close not_confirmed (not confirmed within 90 s), FAILED Kitchen did not close. Look at
                                                       | the valve, it may have moved. Check its power and its connection.; asks action:close
  broker cut; ask sonic/last_command/dismiss PRESS; 1m
  ask sonic/last_command/dismiss PRESS; 1s             | close not_confirmed (not confirmed within 90 s)
  broker cut; 1m

is no longer one that was killed in the middle, whatever became of the command
  close; 2s; kill; 1m; start                       | closed; close confirmed (sonic2mqtt was restarted, and then read that the valve is closed);
                                                   | closed by command; asks action:close
  weaken; open; 2s; kill; 1m; cloud refused; start | opening (shown null), unavailable; open not_confirmed (sonic2mqtt was restarted before the valve
                                                   | had confirmed the command), FAILED It is not known whether Kitchen has opened. Reason: sonic2mqtt
                                                   | was restarted before the valve had confirmed the command. Look at the valve, it may have moved.;
                                                   | closed by command, shown null; asks action:open; health cloud_unreachable
  cloud ok; 5m                                     | closed; closed by command; health ok

can be dismissed, and is one of a newer command, before the cloud can be read after a restart
  watch command outcomes                                           | no command
  weaken; close; 2m; stop; cloud refused; start; 1m                | open (shown null), unavailable; close not_confirmed (not confirmed within 90 s),
                                                                   | FAILED Kitchen did not close. Look at the valve, it may have moved. Check its
                                                                   | power and its connection.; asks action:close; health cloud_unreachable; ok;
                                                                   | error: not_confirmed
  send sonic/last_command/dismiss PRESS; 1s                        | close not_confirmed (not confirmed within 90 s); ok
  send sonic/valve/set CLOSE; 1s                                   | close refused (valve "Kitchen" was not read since the start. Try again later),
                                                                   | FAILED The command to close Kitchen failed. The valve was not moved: valve
                                                                   | "Kitchen" was not read since the start. Try again later.; refused: valve
                                                                   | "Kitchen" was not read since the start. Try again later
  send sonic/last_command/dismiss PRESS; send sonic/last_command/dismiss PRESS; 1s
       | close refused (valve "Kitchen" was not read since the start. Try again later); ok; refused: valve "Kitchen" was not read since the start. Try
       | again later
  close; 1s; cloud ok; 5m                                          | open; close refused (valve "Kitchen" was not read since the start. Try again
                                                                   | later), FAILED The command to close Kitchen failed. The valve was not moved:
                                                                   | valve "Kitchen" was not read since the start. Try again later.; health ok;
                                                                   | refused: valve "Kitchen" was not read since the start. Try again later

# a valve that obeys late
@ schedules=prompt

is not shown as failed once it is read closed, ten seconds after its time
  @ world.valveTravelMs=100000
  close; 95s      | closing (shown null); close not_confirmed (not confirmed within 90 s), FAILED Kitchen did not close. Look at the valve, it may
                  | have moved. Check its power and its connection.; asks action:close
  2m; see summary | Water running too long at Kitchen, since 09:00. Water is off.; closed; close confirmed; closed by command

is not told to have failed after an outage in which it was not read
  = open   | warn: Valve "Kitchen" could not be read for 90 s after a command to close it. Look at it; closing (shown null); close not_confirmed (the
           | valve could not be read for 90 s), FAILED It is not known whether Kitchen has closed. Reason: the valve could not be read for 90 s. Look
           | at the valve, it may have moved.; asks action:close; health cloud_unreachable // closed; close confirmed; closed by command; health ok
  = closed | warn: Valve "Kitchen" could not be read for 90 s after a command to close it. Look at it; closing (shown null); close not_confirmed (the
           | valve could not be read for 90 s), FAILED It is not known whether Kitchen has closed. Reason: the valve could not be read for 90 s. Look
           | at the valve, it may have moved.; closed by automatic_shut_off ({oldi1}); asks action:close; health cloud_unreachable // closed; close
           | confirmed; health ok
  valve $1; 2m; close; 1s; cloud refused; 2m; see last | …
  cloud ok; 5m                                         | …

is not told to have failed after an outage and a restart in which it was not read
  = open   | closed; close confirmed (sonic2mqtt was restarted, and then read that the valve is closed); closed by command; asks action:close
  = closed | closed; close confirmed (sonic2mqtt was restarted, and then read that the valve is closed); closed by automatic_shut_off ({oldi1}); asks
           | action:close
  valve $1; 2m; close; 1s; cloud refused; 2m; stop; cloud ok; start; 5m
       | …

says if it was sent when the bridge stopped before an answer
  = slow-connect | close error (sonic2mqtt is stopping. The command was not sent), FAILED The command to close Kitchen failed. The valve was not
                 | moved: sonic2mqtt is stopping. The command was not sent.
  = hang-before  | close error (sonic2mqtt stopped before the cloud answered. The command may still be carried out), FAILED The command to close
                 | Kitchen failed. Reason: sonic2mqtt stopped before the cloud answered. The command may still be carried out. Look at the valve, it
                 | may have moved.; asks action:close
  cloud $1 move; close; 100ms; stop; cloud ok; start | …

is not told to have stood still if only the first half of its time was read
  weaken; close; 45s; cloud refused; 1m | close not_confirmed (the valve could not be read for 47 s), FAILED It is not known whether Kitchen has
                                        | closed. Reason: the valve could not be read for 47 s. Look at the valve, it may have moved.; asks
                                        | action:close; health cloud_unreachable

is shown as failed until it is read where it was to go, also if another client closes it
  put settings auto_shut_off=false; refresh; weaken; close; 2m | close not_confirmed (not confirmed within 90 s), FAILED Kitchen did not close. Look
                                                               | at the valve, it may have moved. Check its power and its connection.; asks
                                                               | action:close
  valve closed; 2m                                             | closed; close not_confirmed (not confirmed within 90 s); closed by elsewhere

# who moved the valve
@ schedules=prompt

is known from a command or an incident that comes later, or is unknown, over restarts
  watch moved                                         | moved by nobody
  close; 30s; see sonic.moved_by sonic/movement:topic | moved_by Command; topic "sonic2mqtt/sonic/{sonic}/valve/set"; closed; close confirmed; closed
                                                      | by command; asks action:close
  10m; valve open; 90s; see sonic/movement:topic      | topic null; open; open by elsewhere
  alert device_handle_moved; 1m                       | open by by_hand ({i1})
  10m; valve pressure_test; 2m; valve open; 2m
  valve closed; alert water_presence_detected; 2m     | closed; closed by automatic_shut_off ({i2})
  stop; valve open; 1h; start                         | open; open by elsewhere at some time
  cloud error-503; 1h; valve closed; 1h; cloud ok; 5m | closed; closed by elsewhere at some time

is the command if the machine slept until its valve was read there
  close; 1s; sleep 1h; 61m; see sonic:valve_travel_time_s | valve_travel_time_s null; closed; close confirmed; closed by command at some time; asks
                                                          | action:close

is a hand that did what a command could not, as the incident shows
  weaken; close; 45s; alert device_handle_moved; valve closed; 1m | closed; close confirmed; closed by by_hand ({i2}); asks action:close

is not the automatic shut-off that was paused then, and is on again soon after
  pause 10; 7m; alert high_volume_alert; 30s; valve closed; 5m; see shut-off
       | on; closed; closed by elsewhere; asks auto_shut_off:false; asks auto_shut_off:true

# a failed command
watch record

is shown until a newer one is confirmed, not confirmed itself
  ask close; end not_confirmed | close not_confirmed, FAILED close not_confirmed 90 s, not_confirmed_close command_advice, stopped close, awaited
  ask open                     | open sent, FAILED close not_confirmed 90 s, not_confirmed_close command_advice, stopped close, awaited
  end confirmed                | open confirmed, stopped close

is shown until a newer one is confirmed, with an error
  ask close; end error | close error, FAILED close error 90 s, failed_close command_unsure, awaited
  ask open             | open sent, FAILED close error 90 s, failed_close command_unsure, awaited
  end confirmed        | open confirmed

is none where a newer one was sent, and is not ended by an older one
  ask close; ask open; end error 1 | open sent
  end error 2; end confirmed 1     | open error, FAILED open error 90 s, failed_open command_unsure, awaited

is none of an old command, however many came since
  ask close; ask open; ask open; ask open; ask open; ask open; ask open; ask open; ask open; ask open; ask open; end error 1
       | open sent

ends when the valve is read where it was to go, whoever has moved it
  read open; refuse | close refused (no), FAILED close refused ? s, failed_close command_unmoved no, open, awaited
  read closed 1ms   | close refused (no), FAILED close refused ? s, failed_close command_unmoved no, closed by elsewhere, 0 s ago, awaited
  1m; read closed   | close refused (no), closed by elsewhere, 60 s ago

does not end when the valve is read elsewhere
  read open; refuse; 1m; read open | close refused (no), FAILED close refused ? s, failed_close command_unmoved no, open, awaited

that may have moved the valve has other words than one that has not, also after a restart
  = moved why.   | close error (why.), FAILED close error ? s, failed_close command_unsure why, awaited
  = unmoved why? | close error (why?), FAILED close error ? s, failed_close command_unmoved why?, awaited
  ask close; fail $1; restart | …

that was not confirmed has other words if the valve was not read
  ask open; end unread | open not_confirmed, FAILED open not_confirmed ? s, unconfirmed_open command_unsure, stopped open, awaited

is one that was refused
  refuse | close refused (no), FAILED close refused ? s, failed_close command_unmoved no, awaited

is shown for a day, in one run and over a restart
  = 0s
  = restart
  ask close; end error; $1; 86399s | close error, FAILED close error 90 s, failed_close command_unsure, awaited
  2s; read open                    | close error, open

is shown no longer with a clock that was a year ahead
  ask close; end error; ahead 365d; restart; 86399s | close error, FAILED close error 90 s, failed_close command_unsure, awaited
  25h; read open                                    | close error, open

is none after its owner has dismissed it
  = not_confirmed | close sent, stopped open, open // close not_confirmed, FAILED close not_confirmed 90 s, not_confirmed_close command_advice,
                  | stopped close, open, awaited // close not_confirmed, stopped close, open // close not_confirmed, stopped close, open, awaited //
                  | open not_confirmed, FAILED open not_confirmed 90 s, not_confirmed_open command_advice, stopped open, open, awaited
  = error         | close sent, open // close error, FAILED close error 90 s, failed_close command_unsure, open, awaited // close error, open //  //
                  | open error, FAILED open error 90 s, failed_open command_unsure, open, awaited
  read open; ask open; end $1; ask close; dismiss | …
  end $1                                          | …
  dismiss                                         | …
  restart                                         | …
  1m; read open; ask open; end $1                 | …

leaves its movement ended until the valve is read in a position, whatever became of it
  = dismiss                 | close not_confirmed, stopped close, open, awaited
  = 25h                     | close not_confirmed, stopped close, open, awaited
  = refuse                  | close refused (no), FAILED close refused ? s, failed_close command_unmoved no, stopped close, open, awaited
  = ask close; fail unmoved | close error (why), FAILED close error ? s, failed_close command_unmoved why, stopped close, open, awaited
  read open; accept close 90s; end not_confirmed; $1; 1m; read closing; restart; 1m; read closing
       | …

leaves its movement ended until the valve is read in a position
  read open; accept close 90s; end not_confirmed; dismiss; 1m; read closing
       | close not_confirmed, stopped close, open, awaited
  1m; read open; 1m; read closing                                  | close not_confirmed, open

leaves no movement ended once the cloud has accepted a newer one
  accept close 90s; end not_confirmed; accept close 90s | close sent, FAILED close not_confirmed 90 s, not_confirmed_close command_advice, awaited
  restart                                               | close not_confirmed (sonic2mqtt was restarted before the valve had confirmed the command),
                                                        | FAILED close not_confirmed ? s, unconfirmed_close command_unsure sonic2mqtt was restarted
                                                        | before the valve had confirmed the command, stopped close, awaited, kept otherwise

is one that was sent when the process died, until the valve is read where it was to be
  read open; ask close; restart | close not_confirmed (sonic2mqtt was restarted before the valve had confirmed the command), FAILED close
                                | not_confirmed ? s, unconfirmed_close command_unsure sonic2mqtt was restarted before the valve had confirmed the
                                | command, stopped close, open, awaited, kept otherwise
  1m; read closed               | close confirmed (sonic2mqtt was restarted, and then read that the valve is closed), closed by command on its topic,
                                | 0 s ago

is not one to close that was refused since, which stays the newest
  = open  | close refused (no), closed by elsewhere, 0 s ago, awaited
  = close | close refused (no), closed by command on its topic, 0 s ago
  read open; ask $1; restart; refuse; 1m; read closed | …

that was refused is not ended by an older one that is confirmed, but by a newer one
  ask open; refuse; end confirmed 1 | close refused (no), FAILED close refused ? s, failed_close command_unmoved no, awaited
  ask close; end confirmed          | close confirmed

is none once the valve obeys late
  = not_confirmed
  = error
  read open; accept close 90s; 1m; read closing; end $1; 1m; read closed
       | close confirmed, closed by command on its topic, 0 s ago

that obeys late leaves a newer one as it is
  read open; accept close 90s; 1m; read closing; end not_confirmed; ask open; 1m; read closed
       | open sent, closed by command on its topic, 0 s ago

that found the valve there is awaited until that is read
  read closed; accept close 90s; end not_confirmed | close not_confirmed, FAILED close not_confirmed 90 s, not_confirmed_close command_advice, stopped
                                                   | close, closed, awaited
  1h; read closed                                  | close confirmed, closed

is known by a newer one that was sent
  read open; ask close; restart; ask open; 1m; read closed | open sent, closed by command on its topic, 0 s ago

is a newer one whose valve moves back, since one of an earlier run may still arrive for three minutes
  read closed; ask open; restart; 10s; read closed; ask close; 1s; read closed; end confirmed
       | close confirmed, closed, awaited
  160s; read open                                                  | close not_confirmed (the valve was moved, and was then read as open again. A
                                                                   | command from before the restart may have arrived late), FAILED close error ? s,
                                                                   | failed_close command_unsure the valve was moved, and was then read as open again.
                                                                   | A command from before the restart may have arrived late, open by command on its
                                                                   | topic, 0 s ago, awaited
  1m; read closed                                                  | close not_confirmed (the valve was moved, and was then read as open again. A
                                                                   | command from before the restart may have arrived late), closed by elsewhere, 0 s
                                                                   | ago

is no newer one whose valve moves back later
  read closed; ask open; restart; 10s; read closed; ask close; 1s; read closed; end confirmed; 15m; read open
       | close confirmed, open by elsewhere, 0 s ago

stays one after a restart until the valve is there, within three minutes and later
  = 1m | close confirmed (sonic2mqtt was restarted, and then read that the valve is closed), closed by command on its topic, 0 s ago
  = 3m | close not_confirmed (sonic2mqtt was restarted before the valve had confirmed the command), closed by elsewhere, 0 s ago
  read open; ask close; restart; $1; read open | close not_confirmed (sonic2mqtt was restarted before the valve had confirmed the command), FAILED
                                               | close not_confirmed ? s, unconfirmed_close command_unsure sonic2mqtt was restarted before the valve
                                               | had confirmed the command, open, awaited
  1m; read closed                              | …

# who moved a valve
watch record

is unknown at the first reading, and nobody in a pressure test
  read open; 1m; read pressure_test; 1m; read open; 1m; read faulty; 1m; read open
       | no command, open

is a command that was accepted, however many were refused since
  read open; accept close 90s; refuse; refuse; refuse; refuse; refuse; refuse; refuse; refuse; refuse; refuse; 5s; read closed
       | close refused (no), closed by command on its topic, 0 s ago

is a command that was accepted, and none that has had its time before, or that the cloud has not received
  = moves 2m                     | close sent, closed by command on its topic, 0 s ago // close sent, open by elsewhere, 0 s ago
  = moves -1m; end not_confirmed | close not_confirmed, closed by elsewhere, 0 s ago // close not_confirmed, open by elsewhere, 0 s ago
  = moves never                  | close error, closed by elsewhere, 0 s ago // close error, open by elsewhere, 0 s ago
  read open; ask close; fly; $1; 1m; read closing; 1m; read closed | …
  1m; read open                                                    | …

is no command that found the valve where it wanted it
  read open; accept open 10m; 1m; read open; 1m; read closed; 1m; read open
       | open sent, open by elsewhere, 0 s ago

is each of two opposite commands
  read open; ask close; ask open; fly 1; fly 2; moves 10m 1; moves 10m 2; 1m; read open; 1m; read closed
       | open sent, closed by command on its topic, 0 s ago, awaited
  1m; read open                                                    | open sent, open by command on its topic, 0 s ago

is a command although the cloud did not receive it a second time
  read open; ask close; ask close; fly 1; fly 2; moves 10m 1; moves never 2; 1m; read closed
       | close error, closed by command on its topic, 0 s ago

is no command that was sent after the reading that shows the movement
  read open; 1m; ask close; fly; read closed 59s | close sent, closed by elsewhere, 0 s ago, awaited

is nobody that is known where a command had failed long before the valve could be read again
  read open; accept close 2m; 1m; read faulty; 1m; end not_confirmed; 1h; read closed
       | close not_confirmed, closed by elsewhere, at some time

is told by an incident that comes before an opening is noticed
  read open; 1m; read closed; 30s; alert water_presence_detected; 30s; read open; explain on
       | no command, open by elsewhere, 0 s ago
  1m; read closed; explain on                                      | no command, closed by automatic_shut_off (i-9), 0 s ago

is a hand although a command was under way, if the incident is of a time between
  = 4m
  = 150s | close sent, closed by by_hand (i-9), 150 s ago
  = 1m
  read open; 2m; read open; accept close 10m; 1m; read closed; 2m; alert device_handle_moved -$1
       | close sent, closed by command on its topic, 120 s ago
  explain on                                                       | …

is told by an incident that comes later
  = device_handle_moved = off = closed     | no command, closed by by_hand (i-9), 0 s ago
  = device_handle_moved = on = open        | no command, open by by_hand (i-9), 0 s ago
  = long_flow_alert = on = closed          | no command, closed by automatic_shut_off (i-9), 0 s ago
  = high_volume_alert = on = closed        | no command, closed by automatic_shut_off (i-9), 0 s ago
  = water_presence_detected = on = closed  | no command, closed by automatic_shut_off (i-9), 0 s ago
  = water_presence_detected = off = closed | no command, closed by elsewhere, 60 s ago
  = water_presence_detected = on = open    | no command, open by elsewhere, 120 s ago
  = low_battery_level = on = closed        | no command, closed by elsewhere, 60 s ago
  read open; read closed; 1m; read open; 1m; read $3; explain $2; 1m; alert $1; explain $2
       | …

is the shut-off if that was on when the movement was noticed
  = off     | no command, closed by elsewhere, 0 s ago
  = on      | no command, closed by automatic_shut_off (i-9), 60 s ago
  = unknown | no command, closed by automatic_shut_off (i-9), 60 s ago
  read open; alert long_flow_alert; 1m; read closed; explain $1; explain on
       | …

is not told by an incident that is long open, or that an earlier run knew
  = 10m; read open
  = restart
  read open; alert device_handle_moved; known; $1; alert device_handle_moved; 1m; read closed; explain
       | no command, closed by elsewhere, 0 s ago

is not told by an incident from before the movement before
  read open; alert long_flow_alert; 1m; read closed; explain off | no command, closed by elsewhere, 0 s ago
  1m; read open; explain on                                      | no command, open by elsewhere, 0 s ago
  1m; read closed; explain on                                    | no command, closed by elsewhere, 0 s ago

has no time at which the valve was still read in its former position
  read open; alert long_flow_alert; 1m; read open; 1m; read closed; explain on
       | no command, closed by automatic_shut_off (i-9), 0 s ago

has a time if the valve was read within an hour before
  = 60m | no command, closed by elsewhere, 0 s ago
  = 61m | no command, closed by elsewhere, at some time
  read open; $1; read closed | …

is somebody elsewhere while the bridge was down, unless a new incident tells
  read open; restart; 2h; read closed | no command, closed by elsewhere, at some time
  alert device_handle_moved; explain  | no command, closed by by_hand (i-9), 0 s ago

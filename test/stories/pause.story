@ shut-off; schedules.properties=1h
watch shut-off pause asks outcomes

# a pause of the automatic shut-off
watch status

turns it off now and on again after its minutes, and says until when
  pause 90                        | off; paused until 10:31; asks auto_shut_off:false; ok
  89m
  62s                             | on; none; asks auto_shut_off:true
  1h
  see property/pause:minutes; log | minutes 0; info: Pausing the automatic shut-off of "Willow Cottage" for 90 min (MQTT command); info: The automatic
                                  | shut-off of "Willow Cottage" is on again

is shown before the cloud can be read after a restart
  pause 60; 1m; stop; cloud refused; start; 1m; see pause | paused until 10:01; off; paused until 10:01; asks auto_shut_off:false; ok; health
                                                          | cloud_unreachable

can be ended, prolonged and shortened; only what turns it off or on is asked of the cloud
  pause 0     | refused: the automatic shut-off is not paused
  pause 15    | off; paused until 09:16; asks auto_shut_off:false; ok
  pause 120   | paused until 11:01; ok
  1h
  pause 5     | paused until 10:06; ok
  302s        | on; none; asks auto_shut_off:true
  pause 1440  | off; paused until 10:06; asks auto_shut_off:false; ok
  pause 0; 2s | on; none; asks auto_shut_off:true; ok

is refused in words for anything but whole minutes of a day at most
  pause -5; pause 1441; pause 2.5; pause {"minutes":5}; pause 1e2; pause an hour; pause ON; pause  ; ask property/pause/set; 1m
       | refused: must be whole minutes from 1 to 1440, or 0 to end the pause (8 times)

is refused where the shut-off is off already, by what the cloud says now, or not known
  put settings auto_shut_off=false; refresh; 1m; pause 60 | off; ok; refused: the automatic shut-off is off already
  put settings auto_shut_off=true; refresh; 1m            | on; ok
  put settings auto_shut_off=false; pause 60              | off; refused: the automatic shut-off is off already
  put settings auto_shut_off=null; pause 60               | unknown; refused: it is not known whether the automatic shut-off is on. Try again later
  cloud error-503 get; pause 60                           | error 503: the cloud answered 503 (server error). Nothing was changed

is refused where nothing can be kept on disk, since nothing could end it after a restart; the pause before stands
  disk ENOSPC; pause 60 | refused: data_dir cannot be written, so nothing could turn the automatic shut-off on again after a restart. Nothing was
                        | changed; health degraded
  disk ok; 2m; pause 60 | off; paused until 10:03; asks auto_shut_off:false; ok; health ok
  disk EROFS; pause 600 | refused: data_dir cannot be written, so nothing could turn the automatic shut-off on again after a restart. Nothing was
                        | changed
  1h                    | on; none; asks auto_shut_off:true; health degraded

is on disk before the cloud receives it
  hold "pauses":{"; ask property/pause/set 60; 5s
  release; 1s                                     | off; paused until 10:01; asks auto_shut_off:false; ok

that is prolonged while its end comes is refused for that, however slow the disk is
  pause 10; 597s; hold; ask property/pause/set 30; 4s | off; paused until 09:11; asks auto_shut_off:false; ok
  release; 5s                                         | paused until 09:40; ok

has buttons and a number in Home Assistant, unless control.settings is off
  number                                    | 0 1440 min sonic2mqtt/property/{property}/pause/set, button_resume,sensor_paused_until
  pause 1441                                | refused: must be whole minutes from 1 to 1440, or 0 to end the pause
  pause 15.0; see property.pause            | pause 15; off; paused until 09:16; asks auto_shut_off:false; ok
  press property resume; see property.pause | pause 0; on; none; asks auto_shut_off:true; ok
  pause 15                                  | off; paused until 09:16; asks auto_shut_off:false; ok
  stop; start control.settings=false
  number                                    | , sensor_paused_until
  pause 0                                   | refused: not permitted: control.settings is off in the configuration
  15m                                       | on; none; asks auto_shut_off:true

# somebody else, during a pause
@ schedules.properties=10m
watch status

ends it by turning the shut-off on in the app; from then on it is off because somebody wants that
  pause 60                             | off; paused until 10:01; asks auto_shut_off:false; ok
  20m; put settings auto_shut_off=true | on
  11m                                  | none; asks auto_shut_off:true
  put settings auto_shut_off=false; 1h | off

does not end it for good by one answer that is old: it is turned on
  pause 60; 20m; stale 1; 11m | asks auto_shut_off:false; asks auto_shut_off:true; ok

does not end it by a reading that was under way before it was off
  cloud slow get; refresh; 100ms; cloud ok; pause 60; 1m | off; paused until 10:01; asks auto_shut_off:false; ok (2 times)

is ended by no ON that the cloud accepts while the pause is just beginning
  cloud slow set false; ask property/pause/set 60; until asks false
       | asks auto_shut_off:false
  request true; until asks true; 1m                                | off; paused until 10:01; asks auto_shut_off:true; ok (2 times)

is not prolonged by a command whose own reading shows that it is on again
  pause 60; 1m; put settings auto_shut_off=true; pause 60 | asks auto_shut_off:false; asks auto_shut_off:true; ok; refused: the automatic shut-off is
                                                          | being turned on after a pause. Try again when it is on
  1m

ends it by the command ON, and cannot make it last for good by OFF
  pause 60                                                         | off; paused until 10:01; asks auto_shut_off:false; ok
  send property/settings/auto_shut_off/set OFF                     | refused: the automatic shut-off is paused, and is turned on again after the
                                                                   | pause. To turn it off permanently, end the pause first
  send property/settings/set {"auto_shut_off":false,"timezone":"Europe/Paris"}
       | refused: the automatic shut-off is paused, and is turned on again after the pause. To turn it off permanently, end the pause first
  request false; 1s                                                | refused: the automatic shut-off is paused, and is turned on again after the
                                                                   | pause. To turn it off permanently, end the pause first
  send property/settings/timezone/set Europe/Paris                 | asks timezone:Europe/Paris; ok
  send property/settings/auto_shut_off/set ON; 1s                  | on; none; asks auto_shut_off:true; ok
  send property/settings/auto_shut_off/set OFF                     | off; asks auto_shut_off:false; ok
  65m

# a pause and a restart
watch status

is ended in time after
  = stop
  = kill
  pause 60; 20m; $1; 20m; start | off; paused until 10:01; asks auto_shut_off:false; ok
  20m                           | on; none; asks auto_shut_off:true

is ended at once where its time has passed meanwhile
  pause 60; kill; 5h | off; paused until 10:01; asks auto_shut_off:false; ok
  start              | on; none; asks auto_shut_off:true

that was killed between disk and request has no pause
  cloud slow-connect set; ask property/pause/set 60; 400ms
  kill; cloud ok; start; 65m                               | asks auto_shut_off:true

that was killed before the answer has the pause, and ends it
  cloud hang-after set; ask property/pause/set 60; 1s | off; asks auto_shut_off:false
  kill; cloud ok; start                               | paused until 10:01
  1h                                                  | on; none; asks auto_shut_off:true

whose request arrives when the process has long been dead is ended all the same
  cloud hang-before set; ask property/pause/set 60; 1s; kill; cloud ok; start
       | paused until 10:01; asks auto_shut_off:false
  100s; put settings auto_shut_off=false; 5m                       | off
  1h                                                               | on; none; asks auto_shut_off:true

that was ended when its request arrives long after is ended all the same
  cloud hang-before set; ask property/pause/set 60; 1s; kill; cloud ok; start
       | paused until 10:01; asks auto_shut_off:false
  pause 0                                                          | resuming until 09:02; asks auto_shut_off:true; error: timeout: the cloud has not
                                                                   | confirmed it yet. Trying again until the automatic shut-off is on
  100s
  put settings auto_shut_off=false; 5m                             | none; asks auto_shut_off:true
  1h

whose state file is lost is on the broker, and ends
  pause 30      | off; paused until 09:31; asks auto_shut_off:false; ok
  elsewhere; 1m
  1h            | on; none; asks auto_shut_off:true

whose state file is lost can be changed at once, and ends
  = prolonged = 90 | off; paused until 10:41; asks auto_shut_off:false; asks auto_shut_off:true; asks auto_shut_off:false; ok (3 times)
  = ended     = 0  | off; paused until 10:41; asks auto_shut_off:false; asks auto_shut_off:true; asks auto_shut_off:false; ok; error: timeout: the
                   | cloud has not confirmed it yet. Trying again until the automatic shut-off is on; ok
  pause 60; elsewhere; 5s; pause $2; 95m; pause 5 | …

is ended although the property is not selected any more
  @ world.properties=2
  pause 60; stop; start filters.properties=["{property2}"] | off; no pause shown; asks auto_shut_off:false; ok; health degraded
  1h                                                       | on; asks auto_shut_off:true

# a pause and a state file
watch status

that is damaged or missing goes on by the broker, and ends
  = cut
  = missing
  = wrong
  pause 60; 20m; kill; lose $1; start; 5m | off; paused until 10:01; asks auto_shut_off:false; ok
  36m                                     | on; none; asks auto_shut_off:true

that is older, as a copy that was put back, goes on by the broker, and ends
  keep; pause 60; stop; lose older; start | off; paused until 10:01; asks auto_shut_off:false; ok
  1h                                      | on; none; asks auto_shut_off:true

of which the broker has an older message is what the file says
  pause 60; 1m; keep; pause 120; stop; older; start | off; paused until 11:02; asks auto_shut_off:false; ok (2 times)
  2h                                                | on; none; asks auto_shut_off:true

that a stranger has written to the broker is a day long at most
  put settings auto_shut_off=false; stop; lose missing; forge; start; see property/pause:minutes
       | minutes 1440; off; paused until 09:01
  sleep 23h; 24h                                                   | on; none; asks auto_shut_off:true

that a stranger has made longer on the broker ends by the file
  pause 10; stop; forge; start | off; paused until 09:11; asks auto_shut_off:false; ok
  10m                          | on; none; asks auto_shut_off:true

that a later run has made shorter, of which only the broker knows, ends by the broker
  pause 60; 1m; keep; pause 20; stop; lose older; start | off; paused until 09:22; asks auto_shut_off:false; ok (2 times)
  20m                                                   | on; none; asks auto_shut_off:true

that cannot be written when it ends: the outcome says that it is not kept
  = pause/set 0
  = settings/auto_shut_off/set ON
  pause 60; disk ENOSPC; send property/$1                    | asks auto_shut_off:false; asks auto_shut_off:true; ok; error: the automatic shut-off is
                                                             | on, but data_dir cannot be written. If sonic2mqtt restarts before that works, it turns
                                                             | the automatic shut-off on once more; health degraded
  until pause none
  disk ok; 2m; put settings auto_shut_off=false; restart; 2h | off; health ok

that cannot be read for a moment is not touched, and goes on
  pause 60; kill; disk EIO; boot; 200ms; disk ok; 1m; see files | /data/sonic2mqtt.json; off; paused until 10:01; asks auto_shut_off:false; ok

that is lost everywhere is told until the shut-off is on, over restarts
  pause 60; kill; lose broken; forget /pause; start; 5m; see health
       | health degraded: The memory of a pause may be lost: Willow Cottage. Look at the automatic shut-off there, and turn it on. If it is to stay
       | off, turn it off again when this message has ended; off; no pause shown; asks auto_shut_off:false; ok; health degraded
  kill; start; 5m
  put settings auto_shut_off=true; 2h                              | on; none; health ok
  put settings auto_shut_off=false; kill; forget /pause; start; 5m | off

that is lost everywhere is not of a property that was added later
  kill; lose broken; forget /pause; start; added; 2h; see property2/pause:state
       | property2/pause:state "none"

# a pause and a clock
watch status

that is set hours back is no longer than it was asked for, and says when it ends
  pause 60; 10m   | off; paused until 10:01; asks auto_shut_off:false; ok
  clock -300m; 1m | paused until 05:01
  48m
  62s             | on; none; asks auto_shut_off:true

that goes on while the machine sleeps ends when it wakes
  pause 5         | off; paused until 09:06; asks auto_shut_off:false; ok
  sleep 10m; 615s | on; none; asks auto_shut_off:true

# a cloud that does not turn it on again
watch health

is asked until it does, and that is said once
  = refused | failed until 10:01 (connection refused by cloud.example.com); health degraded: The automatic shut-off of "Willow Cottage" is still off
            | after a pause: connection refused by cloud.example.com. Retrying. Turn it on in the vendor's app; warn: Automatic shut-off of "Willow
            | Cottage": still off after a pause: connection refused by cloud.example.com. Retrying
  = limited | failed until 10:01 (the cloud answered 429 (too many requests): too many); asks auto_shut_off:true (8 times); health degraded: The
            | automatic shut-off of "Willow Cottage" is still off after a pause: the cloud answered 429 (too many requests): too many. Retrying. Turn
            | it on in the vendor's app; warn: The cloud limits requests. Waiting 2 s; warn: Automatic shut-off of "Willow Cottage": still off after a
            | pause: the cloud answered 429 (too many requests): too many. Retrying
  = denied  | failed until 10:01 (the cloud answered 401 (the session is not valid): HTTP Token: Access denied); asks auto_shut_off:true (6 times);
            | health degraded: The automatic shut-off of "Willow Cottage" is still off after a pause: the cloud answered 401 (the session is not
            | valid): HTTP Token: Access denied. Retrying. Turn it on in the vendor's app; warn: Automatic shut-off of "Willow Cottage": still off
            | after a pause: the cloud answered 401 (the session is not valid): HTTP Token: Access denied. Retrying
  = html    | failed until 10:01 (the cloud accepted the change, but still reports it as off); asks auto_shut_off:true (5 times); health degraded: The
            | automatic shut-off of "Willow Cottage" is still off after a pause: the cloud accepted the change, but still reports it as off. Retrying.
            | Turn it on in the vendor's app; warn: Automatic shut-off of "Willow Cottage": still off after a pause: the cloud accepted the change,
            | but still reports it as off. Retrying
  = 404     | failed until 10:01 (the cloud answered 404 (not found)); asks auto_shut_off:true (2 times); health degraded: The automatic shut-off of
            | "Willow Cottage" is still off after a pause: the cloud answered 404 (not found). Retrying. Turn it on in the vendor's app; warn:
            | Automatic shut-off of "Willow Cottage": still off after a pause: the cloud answered 404 (not found). Retrying
  pause 60; watch warnings; cloud $1 set | off; paused until 10:01; asks auto_shut_off:false; ok
  62m                                    | …
  cloud ok; 11m                          | on; none; asks auto_shut_off:true; health ok

has turned it on, but does not say so
  pause 60; cloud hang-after set; 62m | asks auto_shut_off:false; asks auto_shut_off:true; ok
  cloud ok; 1m

because it is away goes on over restarts, also without a broker
  pause 60; 50m; cloud refused; broker away; 30m; kill; start | off; paused until 10:01; asks auto_shut_off:false; ok
  cloud ok; 2m                                                | on; asks auto_shut_off:true
  broker ok; 3m                                               | none

is not called off any more while it only waits for the proof
  pause 60; 59m                            | off; paused until 10:01; asks auto_shut_off:false; ok
  cloud refused; until pause failed        | failed until 10:01 (connection refused by cloud.example.com); health degraded: Cannot read properties:
                                           | connection refused by cloud.example.com. Retrying
  kill; start; cloud ok; until shut-off on | on; resuming until 10:01; asks auto_shut_off:true; health ok
  30s
  3m                                       | none

although it accepts is not believed before it shows that
  pause 60; cloud 200 set; 61m | off; failed until 10:01 (the cloud accepted the change, but still reports it as off); asks auto_shut_off:false; asks
                               | auto_shut_off:true (4 times); ok; health degraded: The automatic shut-off of "Willow Cottage" is still off after a
                               | pause: the cloud accepted the change, but still reports it as off. Retrying. Turn it on in the vendor's app
  cloud ok; 2m                 | on; none; asks auto_shut_off:true; health ok

as a command asks for ends that command with an error, and goes on
  pause 60; cloud error-503 set | off; paused until 10:01; asks auto_shut_off:false; ok
  pause 0                       | failed until 09:01 (the cloud answered 503 (server error)); asks auto_shut_off:true; error 503: the cloud answered
                                | 503 (server error). Trying again until the automatic shut-off is on; health degraded: The automatic shut-off of
                                | "Willow Cottage" is still off after a pause: the cloud answered 503 (server error). Retrying. Turn it on in the
                                | vendor's app
  pause 60                      | refused: the automatic shut-off is being turned on after a pause. Try again when it is on
  cloud ok; 2m                  | on; none; asks auto_shut_off:true; health ok

is not asked any more about a property that it no longer has, until that is back
  @ world.properties=2; world.signals=2; world.sonics=2; schedules.properties=10m
  pause 60; 1m; leave; 2h | off; no pause shown; asks auto_shut_off:false; ok; health ok: The automatic shut-off of "Willow Cottage" is still off
                          | after a pause: the property is no longer in the account
  1h
  back; 1h                | on; none; asks auto_shut_off:true; health ok

# a pause that the cloud
watch status

refuses is none
  = 404 | asks auto_shut_off:false; error 404: the cloud answered 404 (not found)
  = 422 | asks auto_shut_off:false; error 422: the cloud answered 422 (the values are not accepted)
  = 429 | asks auto_shut_off:false (3 times); error 429: the cloud answered 429 (too many requests)
  cloud $1 set; pause 60; 65m | …

may have begun is undone at once, since the command has failed
  = hang-after  | resuming until 09:01; asks auto_shut_off:false; asks auto_shut_off:true; error: timeout: cloud.example.com without an answer after 7
                | s. The automatic shut-off may be off. It is turned on again
  = reset-after | resuming until 09:01; asks auto_shut_off:false; asks auto_shut_off:true; error: the connection to cloud.example.com broke before the
                | answer was complete. The automatic shut-off may be off. It is turned on again
  = error-503   | resuming until 09:01; asks auto_shut_off:false; asks auto_shut_off:true; error 503: the cloud answered 503 (server error). The
                | automatic shut-off may be off. It is turned on again
  cloud $1 set false; pause 60 | …
  1m                           | none

cannot be read leaves the earlier pause as it was
  pause 60; cloud hang-after get; pause 600 | off; paused until 10:01; asks auto_shut_off:false; ok; error: timeout: cloud.example.com without an
                                            | answer after 9 s. Nothing was changed
  cloud ok; kill; start
  1h                                        | on; none; asks auto_shut_off:true

shows for a moment what was leaves the earlier pause as it was
  pause 60; stale 9; pause 600 | off; paused until 10:01; asks auto_shut_off:false; ok; refused: it is not known whether the automatic shut-off is on.
                               | Try again later
  cloud ok; kill; start
  1h                           | on; none; asks auto_shut_off:true

@ world.sonics=2; schedules=prompt
watch status

# a broker

that restarts has all again, and no device goes
  = empty = 0
  = with half of what it kept = 0.5
  5m; keep; empty $2; 6m; whole; deleted | whole; 0 deletions logged

that restarts with half of what it kept, together with the bridge, has all again, and no device goes
  5m; keep; kill; empty 0.5; boot; 6m; whole; deleted | whole; 0 deletions logged

loses the message of an ended incident once, also if the disk cannot be written
  alert long_flow_alert; 1m; kill; end i1; vanish i1; disk EROFS; start; 6m; deletions i1
       | deleted 1 times; health degraded

that shows only a part of what it keeps to a new bridge loses nothing by that
  5m; keep; stop; shown 0.5; start; birth; 6m; whole; deleted | whole; 0 deletions logged

in which somebody has deleted a discovery message, or replaced it by something else, has it again
  = gone    | the same, 0 deletions; said 1 times
  = nothing | the same, 1 deletions; said 1 times
  10m; keep; write $1; 10s; same; say has replaced or deleted discovery
       | …

that sends what it keeps only after its answer to the ping loses nothing
  @ isWired
  = all = /
  = of valves = /sonic/
  5m; keep; stop; late $2; start; 5m; whole; stop | whole

that has devices of a state file, and an account without them, loses them
  = lost
  = damaged
  = older
  5m; save; add sonic; watch sonic3/availability*; 5m          | online
  stop; lose $1; remove sonic3; start; 5m; topics sonic3; stop | topics of sonic3: ; offline; deleted

that has a failed command and a movement of a state file shows them further, whatever happened to that
  = lost
  = older
  = unmounted
  5m; save; move; watch command moved; 2m; weaken; open; 3m | open not_confirmed (not confirmed within 90 s), FAILED Kitchen did not open. Look at the
                                                            | valve, it may have moved. Check its power and its connection.; closed by elsewhere
  stop; lose $1; start; 5m
  disk ok; 5m; restart; 5m

that refuses to forget a closed incident is asked again, and health says so until it has
  alert high_humidity; 1m; refuse i1; end i1; 1m; see health | health degraded: The MQTT broker rejects messages, for example
                                                             | sonic2mqtt/incident/{i1}: Publish error: Not authorized. Home Assistant shows old
                                                             | values or none. Check the access list and the limits of the broker; health degraded
  refuse; 3m; see i1:open                                    | i1:open ; health ok

that keeps what others have written there shows the truth again, and what is theirs stays
  5m; broker cut; foreign; 1m; theirs; see sonic.valve | lost of others: ; discovery is ours; valve open
  restart; 5m; theirs; see sonic.valve                 | lost of others: ; discovery is ours; valve open

has the totals, incidents and pauses for the next run if it is away while a run without the state file goes on
  @ shut-off
  watch shut-off pause incidents                                   | on; none
  5m; pause 60; 1m; see pause; stop; lose lost; more; broker away; boot; 5m; stop; broker ok; start; 1h; total
       | paused until 10:06; the total stands

has the totals, incidents and pauses for the next run if it is being read when a run without the state file is killed
  @ shut-off
  watch shut-off pause incidents                                   | on; none
  5m; pause 60; 1m; see pause; stop; lose lost; more; boot; 400ms; kill; start; 1h; total
       | paused until 10:06; the total stands

that shows retained messages to exact topics only has the totals and incidents of a lost state file
  watch incidents
  5m; exact; stop; lose lost; more; start; 6m; total; deleted | the total stands; 0 deletions logged

that shows retained messages to exact topics only has the pauses for a state file that is older or lost
  @ shut-off
  = older
  = lost
  watch shut-off pause                                             | on; none
  5m; save; pause 60; 1m; stop; exact; lose $1; cloud refused; start; cloud ok; 5m
       | off; paused until 10:06
  1h; stop                                                         | on; none

that ends the connection while it is read at exact topics is read again
  @ shut-off
  watch shut-off pause                                             | on; none
  5m; pause 60; 1m; stop; exact; lose lost; boot; 2500ms; broker cut; 5m
       | off; paused until 10:06

that sends what it keeps only after its answer to the ping has the pauses for a state file that is older or damaged
  @ shut-off; isWired
  = older
  = damaged
  watch shut-off pause                                     | on; none
  5m; save; pause 60; 1m; stop; late /; lose $1; start; 5m | off; paused until 10:06
  1h; stop                                                 | on; none

# the version of MQTT
@ mqtt=5
watch dials events

is asked for again at each return: the broker that refused MQTT 5 may have been upgraded
  refuses-5 a; start; 1s; see log | info: Connected to the MQTT broker mqtt://a (MQTT 3.1.1); a 5; a 4; connected
  cut a; 2s                       | a 5; a 4; lost; connected

is 3.1.1 where the broker closes the connection at MQTT 5 without a word
  hangs-up-at-5 a; start; 1s; see log | info: Connected to the MQTT broker mqtt://a (MQTT 3.1.1); a 5; a 4; connected
  cut a; 2s                           | a 5; a 4; lost; connected

is 3.1.1 where the broker does not answer MQTT 5 for 15 seconds
  ignores-5 a; start; 14990ms | a 5
  1s; see log                 | info: Connected to the MQTT broker mqtt://a (MQTT 3.1.1); a 4; connected

stays 5 where a broker that has used it restarts behind a proxy
  start; 1s                 | a 5; connected
  hangs-up a; cut a; 1500ms | a 5 (2 times); lost; failed: the connection was closed (2 times)
  well a; 5s                | a 5; connected

may be any where the broker closes the connection at each: perhaps the password is wrong
  hangs-up a; start; 100ms; see log | warn: MQTT broker mqtt://a: the connection was closed before any answer. Check the port, mqtt:// or mqtts://,
                                    | and mqtt.username and mqtt.password. Retrying; a 5; a 4; failed: the connection was closed before any answer.
                                    | Check the port, mqtt:// or mqtts://, and mqtt.username and mqtt.password

# an attempt
watch dials events

waits for a broker that is not there yet
  away a; publish kept x; read #; start; 3s | a 4 (4 times); publish kept: the MQTT broker is offline; found ; read #: the MQTT broker is offline;
                                            | failed: connection refused. Check the broker and its port (4 times)
  back a; 5s; see log                       | warn: MQTT broker mqtt://a: connection refused. Check the broker and its port. Retrying; info: MQTT
                                            | broker mqtt://a: works again after 4 s (4 failed attempts); info: Connected to the MQTT broker mqtt://a
                                            | (MQTT 3.1.1); a 4; connected

says that the password cannot be read, and tries again
  @ user=bridge; password=unreadable
  start; 100ms                 | failed: cannot read the file mqtt.password_file
  password secret; 1s; see log | warn: MQTT broker mqtt://a: cannot read the file mqtt.password_file. Retrying; info: MQTT broker mqtt://a: works
                               | again after 252 ms (1 failed attempts); info: Connected to the MQTT broker mqtt://a (MQTT 3.1.1); a 4 as
                               | bridge:secret; connected

gives no password without a user
  @ password=idle
  start; 1s | a 4; connected

subscribes with at most eight filters in a packet, and hears at all of them
  @ many
  watch heard subscribed
  noted a; start; 1s                                               | a 4; connected; 8 filters; after 0 s: 8 filters (2 times); after 0 s: 6 filters
  send a set/0 x; send a set/7 x; send a set/8 x; send a set/29 x; 1s
       | set/0 x after 0.002 s, unproven; set/7 x after 0.002 s, unproven; set/8 x after 0.002 s, unproven; set/29 x after 0.002 s, unproven

subscribes at QoS 0, so that a node without its quorum accepts it, and keeps the retain flag of commands with MQTT 5
  @ set=set; overheard=info; will; mqtt=5
  watch subscribed
  noted a; start; 1s | a 5; connected; set at 0 rap, state at 0, info at 0 nl

goes without its own topics where it may not read them
  @ set=set; overheard=info; will
  = state
  = info
  = state info
  watch heard
  refuses a $1; start; 1s | a 4; connected
  send a set x; 1s        | set x after 0.002 s, unproven

# what a broker answers that does not let the bridge in

is told in words
  @ mqtt=$3; set=set,other,third
  = a reset = resets a = 4                                         | failed: the connection was reset before any answer. Check the port, mqtt:// or
                                                                   | mqtts://, and mqtt.username and mqtt.password (9 times)
  = an end within its first packet = breaks-off a = 4              | failed: the connection was closed before any answer. Check the port, mqtt:// or
                                                                   | mqtts://, and mqtt.username and mqtt.password (9 times)
  = garbage = says a 00 01 ff 20 6e 6f 20 4d 51 54 54 = 5          | failed: the server does not use MQTT. Check the port (Not supported) (9 times)
  = garbage after a good answer = says a 20 03 00 00 00 62 02 00 07 62 02 00 07 ff ff ff ff ff ff = 5
       | failed: the server does not use MQTT. Check the port (Invalid header flag bits, must be 0x0 for auth packet) (9 times)
  = a web page = speaks a HTTP/1.1 400 Bad Request = 5             | failed: the server does not use MQTT. Check the port (Invalid header flag bits,
                                                                   | must be 0x0 for puback packet) (9 times)
  = a torn answer = says a 20 01 00 = 4                            | failed: the server accepts connections but does not answer
  = no answer to subscriptions = ignores-subscriptions a = 5       | failed: the broker does not answer a subscription
  = a refusal of all subscriptions = grants a 128 = 5              | failed: the broker rejects a subscription: set, other and 1 more: Unspecified
                                                                   | error (5 times)
  = an unknown identifier = connack a 2 = 4                        | failed: the broker rejects the connection: Identifier rejected (5 times)
  = a server that is away, MQTT 3.1.1 = connack a 3 = 4            | failed: the broker rejects the connection: Server unavailable (5 times)
  = a wrong password, MQTT 3.1.1 = connack a 4 = 4                 | failed: wrong user name or password (5 times)
  = missing rights, MQTT 3.1.1 = connack a 5 = 4                   | failed: not authorized. Check mqtt.username and mqtt.password (5 times)
  = an error without a name = connack a 128 = 5                    | failed: the broker rejects the connection: Unspecified error (5 times)
  = a wrong password = connack a 134 = 5                           | failed: wrong user name or password (5 times)
  = missing rights = connack a 135 = 5                             | failed: not authorized. Check mqtt.username and mqtt.password (5 times)
  = a server that is away = connack a 136 = 5                      | failed: the broker rejects the connection: Server unavailable (5 times)
  = a busy server = connack a 137 = 5                              | failed: the broker rejects the connection: Server busy (5 times)
  = a ban = connack a 138 = 5                                      | failed: the broker rejects the connection: Banned (5 times)
  = a quota = connack a 151 = 5                                    | failed: the broker rejects the connection: Quota exceeded (5 times)
  = another server = connack a 156 = 5                             | failed: the broker rejects the connection: Use another server (5 times)
  $2; start; 15100ms; see events | …
  well a; cut a; 30s; see state  | connected

is told in words when the connection has worked
  @ mqtt=5
  = 0   | info: Connected to the MQTT broker mqtt://a (MQTT 5); warn: MQTT broker mqtt://a: the broker closed the connection: no reason given.
        | Retrying
  = 128 | info: Connected to the MQTT broker mqtt://a (MQTT 5); warn: MQTT broker mqtt://a: the broker closed the connection: Unspecified error.
        | Retrying
  = 139 | info: Connected to the MQTT broker mqtt://a (MQTT 5); warn: MQTT broker mqtt://a: the broker closed the connection: Server shutting down.
        | Retrying
  start; 1s; disconnect a $1; 100ms; see log | …

# a broker that refuses subscriptions
watch subscribed
@ set=set,name/set; will

is asked for them again, less and less often, and no command meanwhile may be an old one
  watch heard
  refuses a name/set state; noted a; start; 20s | set at 0, name/set at 0, state at 0; after 0.502 s: name/set at 0, state at 0; after 1.002 s:
                                                | name/set at 0, state at 0; after 2.002 s: name/set at 0, state at 0; after 4.002 s: name/set at 0,
                                                | state at 0; after 8.002 s: name/set at 0, state at 0
  send a set x; 40s                             | after 16.002 s: name/set at 0, state at 0; set x after 17.502 s
  20m; send a set x; 1s                         | after 32.002 s: name/set at 0, state at 0; after 64.002 s: name/set at 0, state at 0; after 128.002
                                                | s: name/set at 0, state at 0; after 256.002 s: name/set at 0, state at 0; after 300.002 s: name/set
                                                | at 0, state at 0 (2 times); set x after 1257.502 s

is asked for them until it grants them
  watch heard
  refuses a name/set; noted a; start; 2s       | set at 0, name/set at 0, state at 0; after 0.502 s: name/set at 0; after 1.002 s: name/set at 0
  refuses a nothing; 1m; send a name/set x; 1s | after 2.002 s: name/set at 0; name/set x after 60.002 s

# a broker that keeps commands to itself
watch unread
@ set=set/+; test=set/check

is told within seconds after the connection, and until a command comes
  keeps-messages a; start; 20s   | unread: set/check
  well a; send a set/other x; 1s | unread: nothing

is told within the hour where it begins later
  start; 1m
  keeps-messages a; 59m
  2m                    | unread: set/check

# a broker with limits
watch flight events
@ mqtt=5

gets as many messages at a time as there are, or as it says
  = none =  | at most 20 in flight; connected
  = one = 1 | at most 1 in flight; connected
  acknowledges a 1000 $2; start; 1s; many 20; 1s | …
  30s                                            | publish: done (20 times)

gets no packet that is longer than it takes
  takes a 30; start; 1s; publish kept fits; publish kept fits-not-in; 1s
       | connected; publish kept: kept has 31 bytes. The broker accepts at most 30; publish kept: done

# two bridges with one base topic
watch dialled standing
@ base=home; mqtt=5

are not both connected: the one that was put out tries again after 1, 2, 4, 8 and then every 10 minutes
  start; 1m; rival a; 1s; see log | info: Connected to the MQTT broker mqtt://a (MQTT 5); warn: MQTT broker mqtt://a: another sonic2mqtt uses the base
                                  | topic home. Stop one of the two, or give it its own mqtt.base_topic. Retrying; 0 s; stands still
  47m                             | 120 s; 240 s; 480 s; 960 s; 1560 s; 2160 s; 2760 s
  leaves a; 10m; see state        | connected; 3360 s; tries

are noticed by the ends of young connections where the broker does not say why it ends them
  @ mqtt=4
  start; 1m; rival a; 10s; see log | info: Connected to the MQTT broker mqtt://a (MQTT 3.1.1); warn: MQTT broker mqtt://a: the connection was closed.
                                   | Retrying; info: MQTT broker mqtt://a: works again after 502 ms (1 failed attempts); info: Connected to the MQTT
                                   | broker mqtt://a (MQTT 3.1.1); warn: MQTT broker mqtt://a: the connection was closed. Retrying; info: MQTT broker
                                   | mqtt://a: works again after 1 s (1 failed attempts); info: Connected to the MQTT broker mqtt://a (MQTT 3.1.1);
                                   | warn: MQTT broker mqtt://a: the connection was closed. Retrying; warn: MQTT broker mqtt://a: the broker closes
                                   | the connection repeatedly. Perhaps another sonic2mqtt uses the base topic home. Stop one of the two, or give it
                                   | its own mqtt.base_topic. Retrying; 0 s; 61 s; 62 s; 64 s; stands still
  20m                              | 124 s; 244 s; 484 s; 964 s
  leaves a; 10m; see state         | connected; 1564 s; tries

are not suspected where a broker restarts three times
  @ mqtt=4
  start; 1m; cut a; 10s; cut a; 10s; cut a; 10s; see state | connected; 0 s; 61 s; 71 s; 82 s

# several addresses
watch dials events waits
@ urls=a,b; set=set

go on to the next at once where one is away, and say which
  away a; start; 1s; see log | warn: MQTT broker: mqtt://a: connection refused. Check the broker and its port. Retrying; info: MQTT broker: works
                             | again after 4 ms (1 failed attempts); info: Connected to the MQTT broker mqtt://b (MQTT 3.1.1); a 4; b 4; failed:
                             | connection refused. Check the broker and its port; connected

wait only once each was tried, and name each once for as long as all are away
  @ urls=a,b,c
  away a; away b; away c; start; 3s; see log | warn: MQTT broker: mqtt://a: connection refused. Check the broker and its port. Retrying; warn: MQTT
                                             | broker: mqtt://b: connection refused. Check the broker and its port. Retrying; warn: MQTT broker:
                                             | mqtt://c: connection refused. Check the broker and its port. Retrying; a 4; b 4; c 4; a 4; b 4; c 4; a
                                             | 4; b 4; c 4; a 4; b 4; c 4; failed: connection refused. Check the broker and its port (12 times); 4
                                             | waits

go on at once when one is lost, and stay where it works
  watch heard
  start; 1s                    | a 4; connected
  away a; 1s                   | b 4; lost; connected
  back a; 1m; send b set x; 1s | set x after 61.003 s
  away b; 1s; send a set x; 1s | a 4; lost; connected; set x after 63.003 s, unproven

are spoken to as well as each can
  @ mqtt=5
  refuses-5 a; start; 1s; away a; 1s | a 5; a 4; b 5; connected; lost; connected
  back a; away b; 1s                 | a 5; a 4; lost; connected; 1 waits

take a user and a password of their own, and else those of the options, and tell none
  @ urls=own:secret@a,b; user=shared; password=shared-secret
  start; 1s; away a; 1s; see log | info: Connected to the MQTT broker mqtt://a (MQTT 3.1.1); warn: MQTT broker: mqtt://a: the connection was reset.
                                 | Retrying; info: MQTT broker: works again after 4 ms (1 failed attempts); info: Connected to the MQTT broker
                                 | mqtt://b (MQTT 3.1.1); a 4 as own:secret; b 4 as shared:shared-secret; connected; lost; connected

go on where a node takes no subscriptions, as one without a quorum
  watch heard
  refuses a set; start; 1s; send b set x; 1s | a 4; b 4; failed: the broker rejects a subscription: set: Unspecified error; connected; set x after
                                             | 0.006 s, unproven

do not come back without waits where another of the same name pushes the connection out
  rival a b; start; 10s | a 4; b 4; a 4; b 4; a 4; b 4; a 4; b 4; a 4; b 4; connected; lost; connected; lost; connected; lost; connected; lost;
                        | connected; lost; connected; lost; connected; lost; connected; lost; connected; lost; connected; lost; 5 waits

# reading what is retained
watch events
@ set=set

goes on to its end, although others never cease to publish
  send a many/1 x retained; start; 1s  | connected
  chatter a many/2; read many/+; 100ms
  3s                                   | found many/1 many/2; read many/+: done

gives one list after the other, each whole
  send a a/1 x retained; send a b/1 x retained; start; 1s | connected
  read a/+; read b/+; 1s; 3s                              | found a/1; read a/+: done; found b/1; read b/+: done

hears the commands that come meanwhile, and nothing more of the rest afterwards
  watch heard
  send a many/1 x retained; start; 1s | connected
  read many/+; send a set x; 3s       | found many/1; read many/+: done; set x after 0.002 s, unproven
  send a many/1 y; send a set y; 1s   | set y after 2.502 s, unproven

# the end
watch events
@ set=set

comes within a second and a half while the broker hangs, with messages on their way
  start; 1s; frozen a; publish kept x; stop | stopped in 1000 ms; connected; publish kept: the connection to the MQTT broker ended

comes at once while the connection reads what is retained, and when it has ended before
  send a kept x retained; start; 1s; read #; 20ms; stop | stopped in 502 ms; connected; found kept; read #: sonic2mqtt is stopping
  stop                                                  | stopped in 1 ms

# the age of a message
watch heard events
@ set=set; ping=1000

is at most that of the last ping that was answered, also where the machine has slept since
  start; 500ms; send a set first; 10ms                             | set first after 0.002 s, unproven; connected
  1s; send a set second; 10ms                                      | set second after 1.002 s, unproven
  sleep 60000; 59s; send a set asleep; 2s; send a set third; 10ms  | set asleep after 1.002 s; set third after 62.002 s
  holds a; 1s; sleep 5000; 5s; send a set fourth; answers a; 10ms; send a set fifth; 10ms
       | set fourth after 62.002 s; set fifth after 63.002 s

is that of the oldest ping which an answer is for, where several are unanswered
  holds a; start; 2500ms; answers a; 10ms; send a set one; 10ms | set one after 1.002 s, unproven; connected
  answers a; 10ms; send a set two; 10ms                         | set two after 2.002 s, unproven

is unknown where a ping is unanswered for 15 seconds and nothing comes: then the broker is gone
  @ ping=2500
  start; 1m                                                        | connected
  ignores-pings a; 10s; bytes a set 6869; 10s; bytes a set 6869; 10s; bytes a set 6869; 14900ms
       | set hi after 57.502 s (3 times)
  300ms; see log                                                   | info: Connected to the MQTT broker mqtt://a (MQTT 3.1.1); warn: MQTT broker
                                                                   | mqtt://a: the broker does not answer any more. Retrying; lost

# a message
watch heard
@ set=set

is text or not
  start; 1s; bytes a set 7bc3287d; bytes a set c3bc; 10ms | set no text after 0.002 s, unproven; set ü after 0.002 s, unproven

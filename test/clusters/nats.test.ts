import { tellStory } from './story.ts';

tellStory('NATS with MQTT 3.1.1', process.env['NATS_CLUSTER'], 4);

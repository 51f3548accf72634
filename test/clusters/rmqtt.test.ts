import { tellStory } from './story.ts';

tellStory('RMQTT with MQTT 5', process.env['RMQTT_CLUSTER'], 5);

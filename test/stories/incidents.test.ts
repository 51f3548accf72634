import { tell } from './words.ts';

tell(import.meta.url);

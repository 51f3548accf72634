import { expect, it } from 'vitest';
import { Agenda } from '../../../src/simulator/agenda.ts';

it('an agenda runs what is due in order of time, then of entry, each at its own time', () => {
  const agenda = new Agenda(1_000);
  const ran: string[] = [];
  const note = (name: string) => () => ran.push(`${name} ${agenda.now}`);
  agenda.after(30, note('late'));
  agenda.after(10, note('first'));
  agenda.after(10, note('second'));
  agenda.after(10, () => agenda.after(5, note('added')));
  agenda.after(-5, note('overdue'));
  agenda.settle(1_029);
  expect(ran).toEqual(['overdue 1000', 'first 1010', 'second 1010', 'added 1015']);
  expect(agenda.now).toBe(1_029);
  agenda.settle(1_030);
  expect(ran.at(-1)).toBe('late 1030');
});

it('an agenda does not run what was cancelled, and does not turn back', () => {
  const agenda = new Agenda(0);
  const ran: number[] = [];
  const cancel = agenda.after(10, () => ran.push(1));
  agenda.after(10, () => ran.push(2));
  cancel();
  agenda.settle(20);
  agenda.settle(5);
  expect(ran).toEqual([2]);
  expect(agenda.now).toBe(20);
});

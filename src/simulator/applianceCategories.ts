/** What the cloud tells water apart by. */
export const applianceCategories: readonly { readonly id: string; readonly name: string }[] = [
  { id: 'toilet', name: 'Toilet' },
  { id: 'tap', name: 'Tap' },
  { id: 'shower', name: 'Shower' },
  { id: 'bath', name: 'Bath' },
  { id: 'washing_machine', name: 'Washing machine' },
  { id: 'dishwasher', name: 'Dishwasher' },
  { id: 'garden', name: 'Garden' },
  { id: 'other', name: 'Other' },
];

import { type FieldOperation, type PerDevice, rowsFor, type TextRow } from './row.ts';

export function nameText<View>(
  operation: PerDevice<View, FieldOperation>,
  needs: TextRow<View>['needs'],
  value: TextRow<View>['value'],
): TextRow<View> {
  return rowsFor<View>(needs).text({
    key: 'name',
    name: 'Name',
    category: 'config',
    icon: 'mdi:rename-box',
    isDisabledByDefault: true,
    value,
    command: { path: 'name/set', operation, field: 'name' },
  });
}

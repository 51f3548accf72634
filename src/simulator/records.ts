/** Records by id, in the order in which lists show them; a page of the ids costs no walk through all. */
export class Records<T> extends Map<string, T> {
  #ids: string[] = [];

  get ids(): readonly string[] {
    return this.#ids;
  }

  override set(id: string, record: T): this {
    if (!this.has(id)) this.#ids.push(id);
    return super.set(id, record);
  }

  override delete(id: string): boolean {
    if (!super.delete(id)) return false;
    this.#ids = this.#ids.filter((each) => each !== id);
    return true;
  }

  /** Changes the given fields of a record that exists; the record itself is replaced. */
  change(id: string, fields: { readonly [Field in keyof T]?: T[Field] | undefined }): void {
    const record = this.get(id);
    // Fields come from JSON or from code that gives them a value: none is undefined.
    if (record) super.set(id, { ...record, ...fields });
  }
}

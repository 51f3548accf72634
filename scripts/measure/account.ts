/** Where the cloud is and what opens it, as the configuration has it. */
export interface Account {
  readonly base_url: string;
  readonly email: string;
  readonly password: string;
}

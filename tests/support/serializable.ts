/**
 * A database whose transactions are serializable, and in which PostgreSQL refuses some that write (40001, 40P01): at
 * their first statement, at a later one, or at their commit. Only those of our server; what a test does itself is spared.
 */
import { execute, withDatabase } from './connection.ts'

/** Whether the run is `npm run test:serializable`. */
export const SERIALIZABLE = process.env['TEST_ISOLATION'] === 'serializable'

/** Milliseconds after a refusal in which there is no other one: nobody is refused until their patience ends. */
const PAUSE = 40
/** Then each so manieth transaction that writes is refused. */
const EVERY = 5

/** Sequences forget nothing when a transaction is undone. */
const SETUP = `
  create schema refusals;
  create sequence refusals.drawn;
  create sequence refusals.made minvalue 0 start 0;
  create sequence refusals.pause_until minvalue 0 start 0;
  create function refusals.draw() returns text language plpgsql as $$
    declare n bigint := nextval('refusals.drawn');
    begin
      if n % ${EVERY} <> 0 or (select last_value from refusals.pause_until) > extract(epoch from clock_timestamp()) * 1000
        then return 'granted'; end if;
      return (array['first', 'commit', 'later'])[n / ${EVERY} % 3 + 1];
    end $$;
  create function refusals.refuse(state text) returns void language plpgsql as $$
    begin
      perform setval('refusals.pause_until', (extract(epoch from clock_timestamp()) * 1000)::bigint + ${PAUSE});
      perform nextval('refusals.made');
      raise exception using errcode = state, message = 'refused for a test';
    end $$;
  create function refusals.write() returns trigger language plpgsql security definer as $$
    declare fate text := current_setting('refusals.fate', true);
    begin
      if current_setting('application_name') <> 'latchkey' then return null; end if;
      if coalesce(fate, '') = '' then
        fate := set_config('refusals.fate', refusals.draw(), true);
        if fate = 'first' then perform refusals.refuse('40001'); end if;
      elsif fate = 'later' then perform refusals.refuse('40P01');
      end if;
      return null;
    end $$;
  create function refusals.commit() returns trigger language plpgsql security definer as $$
    begin
      perform refusals.refuse('40001');
      return null;
    end $$;
  do $$
    declare one regclass;
    begin
      for one in select oid from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace loop
        execute format('create trigger refusals_write before insert or update or delete on %s
          for each statement execute function refusals.write()', one);
        execute format('create constraint trigger refusals_commit after insert or update or delete on %s
          deferrable initially deferred for each row when (current_setting(''refusals.fate'', true) = ''commit'')
          execute function refusals.commit()', one);
      end loop;
    end $$`

/** From the next connection on. */
export async function makeSerializable(url: string): Promise<void> {
  const name = new URL(url).pathname.slice(1)
  const isolation = `alter database ${name} set default_transaction_isolation = 'serializable'`
  await execute(withDatabase(url, 'postgres'), isolation)
}

/** From now on. */
export async function makeRefuse(url: string): Promise<void> {
  await execute(url, SETUP)
}

/** How many transactions were refused so far. */
export async function countRefusals(url: string): Promise<number> {
  const [row] = await execute<{ made: number }>(url, 'select last_value::int as made from refusals.made')
  return row!.made
}

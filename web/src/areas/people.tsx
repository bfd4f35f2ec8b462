import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Person } from '@atrium-hq/client'
import { atrium, queries } from '../api'
import { confirmed } from '../app/confirmed'
import { TYPING, useShown } from '../app/shown'
import { useList, useMe, useWorkspace } from '../app/workspace'
import { t } from '../text'
import { words } from '../text/people'
import { Button, Empty, Heading, Loading, Pill, Problem, When } from '../ui/basics'
import { InlineSelect, SearchBox } from '../ui/form'
import { Confirm } from '../ui/overlays'
import { More, Table, saveFile } from '../ui/table'
import { Access } from './access'

const statuses = [
  { value: '', label: words.everyone }, { value: 'active', label: t.active }, { value: 'disabled', label: words.disabled },
  { value: 'erased', label: words.erased },
]

/** Everyone of the organisation, for its operators. */
export function People() {
  const [typed, setTyped, asked] = useShown('q', '', TYPING)
  const [status, setStatus] = useShown('status')
  const workspace = useWorkspace()
  const q = asked.trim()
  const list = useList(['people', status, q], (cursor) => atrium.people.list(
    { limit: 50, ...(q && { q }), ...(status && { status }), ...(cursor && { cursor }) },
  ), undefined, true)
  return (
    <>
      <Heading title={t.people}>
        <Link to={`/w/${workspace}/people/directory` as string}>{t.directoryRequests}</Link>
        <SearchBox value={typed} onChange={setTyped} />
        <InlineSelect label={t.status} value={status} choices={statuses} onChange={(e) => setStatus(e.target.value)} />
      </Heading>
      <Problem error={list.error} />
      {list.isPending && <Loading />}
      {list.isSuccess && list.items.length === 0 && <Empty title={words.nobodyMatches} />}
      {list.items.length > 0 && (
        <Table
          label={t.people} items={list.items} id={(p) => p.id} csv="people"
          columns={[
            {
              title: t.who, text: (p) => p.email ?? p.name,
              cell: (p) => <><span className="font-medium">{p.name || p.email || p.id}</span> {p.operator && <Pill tone="mark">{words.operator}</Pill>}<p className="m-0 text-xs text-soft">{p.email} {p.email && !p.email_verified && <Pill>{words.unconfirmed}</Pill>}</p></>,
            },
            { title: t.status, narrow: true, text: (p) => p.status, cell: (p) => <Pill tone={p.status === 'active' ? 'ok' : 'plain'}>{p.status}</Pill> },
            { title: words.workspaces, narrow: true, text: (p) => String(p.workspace_count), cell: (p) => p.workspace_count },
            { title: words.sessions, narrow: true, text: (p) => String(p.session_count), cell: (p) => p.session_count },
            { title: t.apiKeys, narrow: true, text: (p) => String(p.api_key_count), cell: (p) => p.api_key_count },
            { title: t.seen, narrow: true, text: (p) => p.last_seen_at ?? '', cell: (p) => <When at={p.last_seen_at} /> },
            { title: t.actions, narrow: true, cell: (p) => <Acts person={p} /> },
          ]}
        />
      )}
      <More list={list} />
    </>
  )
}

function Acts({ person: p }: { person: Person }) {
  const me = useMe()
  const name = p.name || p.email || p.id
  const refresh = () => queries.invalidateQueries({ queryKey: ['people'] })
  if (p.status === 'erased' || p.id === me.data?.user.id) return null
  return (
    <>
      <Access label={words.access} name={name} id={p.id} load={() => atrium.people.access.get(p.id)} />
      <Export id={p.id} />
      {p.session_count > 0 && (
        <Confirm
          label={t.signOut} title={words.signOut(name)} act={t.signOut} body={words.everySessionOfTheirs}
          run={() => atrium.people.sessions.endAll(p.id).then(refresh)}
        />
      )}
      {p.status === 'disabled'
        ? <Confirm label={t.enable} title={words.enableNameName(name)} act={t.enable} tone="act" body={words.theyCanSignIn} run={() => atrium.people.enable(p.id).then(refresh)} />
        : (
          <Confirm
            label={t.disable} title={words.disableNameName(name)} act={t.disable}
            body={words.theirSessionsEndAnd}
            run={() => confirmed(() => atrium.people.disable(p.id)).then(refresh)}
          />
        )}
      <Confirm
        label={words.erase} title={words.eraseNameName(name)} act={words.eraseForGood}
        body={words.theirNameAddressSign}
        run={() => confirmed(() => atrium.people.erase(p.id)).then(refresh)}
      />
    </>
  )
}

/** Downloads what is stored about a person. */
function Export({ id }: { id: string }) {
  const [error, setError] = useState<unknown>()
  const download = async () => {
    setError(undefined)
    try {
      const data = await atrium.people.export(id)
      saveFile(`${id}.json`, JSON.stringify(data, null, 2), 'application/json')
    } catch (e) {
      setError(e)
    }
  }
  return <><Button tone="quiet" onClick={() => void download()}>{t.export}</Button><Problem error={error} /></>
}

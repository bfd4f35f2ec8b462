import { useDeferredValue, useState } from 'react'
import type { Person } from '@atrium-hq/client'
import { atrium, queries } from '../api'
import { confirmed } from '../app/confirmed'
import { useList, useMe } from '../app/workspace'
import { t } from '../text'
import { Button, Empty, Heading, Loading, Pill, Problem, When } from '../ui/basics'
import { InlineSelect, SearchBox } from '../ui/form'
import { Confirm } from '../ui/overlays'
import { More, Table, saveFile } from '../ui/table'

const statuses = [
  { value: '', label: 'everyone' }, { value: 'active', label: 'active' }, { value: 'disabled', label: 'disabled' },
  { value: 'erased', label: 'erased' },
]

/** Everyone of the organisation, for its operators. */
export function People() {
  const [typed, setTyped] = useState('')
  const [status, setStatus] = useState('')
  const q = useDeferredValue(typed.trim())
  const list = useList(['people', q, status], (cursor) => atrium.people.list(
    { limit: 50, ...(q && { q }), ...(status && { status }), ...(cursor && { cursor }) },
  ))
  return (
    <>
      <Heading title={t.people}>
        <SearchBox value={typed} onChange={setTyped} />
        <InlineSelect label="Status" value={status} choices={statuses} onChange={(e) => setStatus(e.target.value)} />
      </Heading>
      <Problem error={list.error} />
      {list.isPending && <Loading />}
      {list.isSuccess && list.items.length === 0 && <Empty title="Nobody matches." />}
      {list.items.length > 0 && (
        <Table
          label={t.people} items={list.items} id={(p) => p.id} csv="people"
          columns={[
            {
              title: 'Who', text: (p) => p.email ?? p.name,
              cell: (p) => <><span className="font-medium">{p.name || p.email || p.id}</span> {p.operator && <Pill tone="mark">operator</Pill>}<p className="m-0 text-xs text-soft">{p.email}</p></>,
            },
            { title: 'Status', narrow: true, text: (p) => p.status, cell: (p) => <Pill tone={p.status === 'active' ? 'ok' : 'plain'}>{p.status}</Pill> },
            { title: 'Workspaces', narrow: true, text: (p) => String(p.workspace_count), cell: (p) => p.workspace_count },
            { title: 'Sessions', narrow: true, text: (p) => String(p.session_count), cell: (p) => p.session_count },
            { title: 'API keys', narrow: true, text: (p) => String(p.api_key_count), cell: (p) => p.api_key_count },
            { title: 'Seen', narrow: true, text: (p) => p.last_seen_at ?? '', cell: (p) => <When at={p.last_seen_at} /> },
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
      <Export id={p.id} />
      {p.session_count > 0 && (
        <Confirm
          label="Sign out" title={`Sign ${name} out`} act="Sign out" body="Every session of theirs ends at once."
          run={() => atrium.people.sessions.endAll(p.id).then(refresh)}
        />
      )}
      {p.status === 'disabled'
        ? <Confirm label="Enable" title={`Enable ${name}`} act="Enable" tone="act" body="They can sign in again." run={() => atrium.people.enable(p.id).then(refresh)} />
        : (
          <Confirm
            label="Disable" title={`Disable ${name}`} act="Disable"
            body="Their sessions end and their API keys stop working. You can enable them again."
            run={() => confirmed(() => atrium.people.disable(p.id)).then(refresh)}
          />
        )}
      <Confirm
        label="Erase" title={`Erase ${name}`} act="Erase for good"
        body="Their name, address, sign-ins and keys are removed everywhere. What they did stays in the audit trail, without their name. This cannot be undone."
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
  return <><Button tone="quiet" onClick={() => void download()}>Export</Button><Problem error={error} /></>
}

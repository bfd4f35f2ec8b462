import { useState } from 'react'
import { atrium } from '../api'
import { useList, useNames, useWorkspace } from '../app/workspace'
import { Empty, Loading, Problem, When } from '../ui/basics'
import { Input } from '../ui/form'
import { More, Table } from '../ui/table'

export function Audit() {
  const workspace = useWorkspace()
  const names = useNames()
  const [filter, setFilter] = useState({ type: '', subject: '', actor: '' })
  const given = Object.fromEntries(Object.entries(filter).filter(([, v]) => v.trim() !== '').map(([k, v]) => [k, v.trim()]))
  const list = useList(['events', workspace, given], (cursor) => atrium.events.list({ limit: 50, ...given, ...(cursor && { cursor }) }, { workspace }))
  const input = (name: keyof typeof filter, label: string, placeholder: string) => (
    <div className="w-56 max-sm:w-full"><Input label={label} placeholder={placeholder} value={filter[name]} onChange={(e) => setFilter({ ...filter, [name]: e.target.value })} /></div>
  )
  return (
    <>
      <div className="flex flex-wrap gap-3">
        {input('type', 'Type', 'prompt_template.activated')}
        {input('subject', 'About', 'id of the resource')}
        {input('actor', 'By', 'id of the person')}
      </div>
      <Problem error={list.error} />
      {list.isPending && <Loading />}
      {list.isSuccess && list.items.length === 0 && <Empty title="No event matches." />}
      {list.items.length > 0 && (
        <Table
          label="Audit trail" items={list.items} id={(e) => e.id} csv="audit-trail"
          columns={[
            { title: 'When', narrow: true, text: (e) => e.created_at, cell: (e) => <When at={e.created_at} /> },
            { title: 'What', narrow: true, text: (e) => e.type, cell: (e) => <code>{e.type}</code> },
            { title: 'About', text: (e) => e.subject, cell: (e) => <code className="text-xs break-all">{e.subject}</code> },
            { title: 'By', text: (e) => e.actor ?? '', cell: (e) => <span className="break-words" title={e.actor ?? undefined}>{e.actor ? names(e.actor) : 'the system'}</span> },
            {
              title: 'Details', text: (e) => JSON.stringify(e.data),
              cell: (e) => (
                <details>
                  <summary className="cursor-default text-act">Show</summary>
                  <pre className="m-0 max-w-md text-xs break-words whitespace-pre-wrap">{JSON.stringify({ ...e.data, request_id: e.request_id, address: e.address }, null, 2)}</pre>
                </details>
              ),
            },
          ]}
        />
      )}
      <More list={list} />
    </>
  )
}

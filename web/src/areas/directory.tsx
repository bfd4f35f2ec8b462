import { Link } from '@tanstack/react-router'
import { atrium } from '../api'
import { useShown } from '../app/shown'
import { useList, useWorkspace } from '../app/workspace'
import { t } from '../text'
import { words } from '../text/people'
import { About, Empty, Heading, Loading, Pill, Problem, When } from '../ui/basics'
import { InlineSelect } from '../ui/form'
import { More, Table } from '../ui/table'

const outcomes = [
  { value: '', label: words.everyRequest }, { value: 'refused', label: words.refused }, { value: 'changed', label: words.changed },
  { value: 'read', label: words.read },
]

/** What the organisation's directory sent by SCIM, for operators. */
export function Directory() {
  const workspace = useWorkspace()
  const [outcome, setOutcome] = useShown('outcome')
  const list = useList(['directory-requests', outcome], (cursor) => atrium.directory.requests.list(
    { limit: 50, ...(outcome && { outcome }), ...(cursor && { cursor }) },
  ))
  return (
    <>
      <Heading title={t.directoryRequests} up={<Link to={`/w/${workspace}/people` as string}>{t.people}</Link>}>
        <InlineSelect label={words.outcome} value={outcome} choices={outcomes} onChange={(e) => setOutcome(e.target.value)} />
      </Heading>
      <About>{words.directoryAbout}</About>
      <Problem error={list.error} />
      {list.isPending && <Loading />}
      {list.isSuccess && list.items.length === 0 && <Empty title={words.noRequest} />}
      {list.items.length > 0 && (
        <Table
          label={t.directoryRequests} items={list.items} id={(r) => r.id} csv="directory-requests"
          columns={[
            { title: t.when, narrow: true, text: (r) => r.created_at, cell: (r) => <When at={r.created_at} /> },
            {
              title: words.request, narrow: true, text: (r) => `${r.method} ${r.resource}`,
              cell: (r) => <><code className="text-xs">{r.method}</code> {r.resource} <Pill tone={r.outcome === 'refused' ? 'bad' : 'plain'}>{r.status}</Pill></>,
            },
            { title: words.attributes, text: (r) => r.attributes.join(' '), cell: (r) => r.attributes.length > 0 && <span className="text-xs wrap-anywhere">{r.attributes.join(', ')}</span> },
            { title: words.reason, text: (r) => r.detail ?? '', cell: (r) => r.detail && <>{r.code && <code className="text-xs">{r.code}</code>} {r.detail}</> },
            { title: words.id, text: (r) => r.resource_id ?? '', cell: (r) => r.resource_id && <code className="text-xs break-all">{r.resource_id}</code> },
            { title: words.token, narrow: true, text: (r) => String(r.token), cell: (r) => r.token },
          ]}
        />
      )}
      <More list={list} />
    </>
  )
}

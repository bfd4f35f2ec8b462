import { atrium, queries } from '../api'
import { useList } from '../app/workspace'
import { t } from '../text'
import { Pill, Problem, When } from '../ui/basics'
import { Confirm } from '../ui/overlays'
import { More, Table } from '../ui/table'

export function Sessions() {
  const list = useList(['sessions'], (cursor) => atrium.me.sessions.list({ limit: 50, ...(cursor && { cursor }) }))
  const refresh = () => queries.invalidateQueries({ queryKey: ['sessions'] })
  return (
    <>
      <Problem error={list.error} />
      {list.items.length > 0 && (
        <Table
          label="Your sessions" items={list.items} id={(s) => s.id}
          columns={[
            { title: 'Browser', cell: (s) => <><span title={s.user_agent}>{browserOf(s.user_agent)}</span> {s.current && <Pill tone="ok">this one</Pill>}</> },
            { title: 'Address', narrow: true, cell: (s) => s.address ?? '–' },
            { title: 'Began', narrow: true, cell: (s) => <When at={s.created_at} /> },
            { title: 'Seen', narrow: true, cell: (s) => <When at={s.last_seen_at} /> },
            {
              title: t.actions, narrow: true,
              cell: (s) => !s.current && (
                <Confirm
                  label="End" title="End the session" act="End" body="That browser is signed out at once."
                  run={() => atrium.me.sessions.end(s.id).then(refresh)}
                />
              ),
            },
          ]}
        />
      )}
      <More list={list} />
    </>
  )
}

/** The browser and system of a User-Agent header, as people say it. */
function browserOf(agent: string): string {
  const browser = [['Firefox', /Firefox\//], ['Edge', /Edg\//], ['Opera', /OPR\//], ['Chrome', /Chrom(e|ium)\/|CriOS/], ['Safari', /Safari\//]] as const
  const system = [['Android', /Android/], ['iOS', /iPhone|iPad/], ['Windows', /Windows/], ['macOS', /Mac OS X/], ['Linux', /Linux/]] as const
  const found = [browser, system].map((names) => names.find(([, is]) => is.test(agent))?.[0])
  return found[0] ? found.filter(Boolean).join(' on ') : agent || 'unknown'
}

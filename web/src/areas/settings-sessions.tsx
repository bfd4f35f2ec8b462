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
            { title: 'Browser', cell: (s) => <>{s.user_agent || 'unknown'} {s.current && <Pill tone="ok">this one</Pill>}</> },
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

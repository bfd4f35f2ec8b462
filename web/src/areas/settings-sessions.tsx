import { atrium, queries } from '../api'
import { useList, useMe } from '../app/workspace'
import { t } from '../text'
import { words } from '../text/settings'
import { About, Pill, Problem, When } from '../ui/basics'
import { Confirm } from '../ui/overlays'
import { More, Table } from '../ui/table'
import { Access } from './access'
import { browserOf } from './browser'

export function Sessions() {
  const me = useMe()
  const list = useList(['sessions'], (cursor) => atrium.me.sessions.list({ limit: 50, ...(cursor && { cursor }) }))
  const refresh = () => queries.invalidateQueries({ queryKey: ['sessions'] })
  return (
    <>
      <About actions={<Access label={words.yourAccess} name={me.data?.user.name || me.data?.user.email || ''} id="me" load={() => atrium.me.access.get()} />}>{words.sessionsAbout}</About>
      <Problem error={list.error} />
      {list.items.length > 0 && (
        <Table
          label={t.yourSessions} items={list.items} id={(s) => s.id}
          columns={[
            { title: words.browser, cell: (s) => <><span title={s.user_agent}>{browserOf(s.user_agent)}</span> {s.current && <Pill tone="ok">{words.thisOne}</Pill>}</> },
            { title: t.address, narrow: true, cell: (s) => s.address ?? '–' },
            { title: t.began, narrow: true, cell: (s) => <When at={s.created_at} /> },
            { title: t.seen, narrow: true, cell: (s) => <When at={s.last_seen_at} /> },
            {
              title: t.actions, narrow: true,
              cell: (s) => !s.current && (
                <Confirm
                  label={t.end} title={words.endTheSession} act={t.end} body={words.thatBrowserIsSigned}
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

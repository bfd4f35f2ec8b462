import { useQuery } from '@tanstack/react-query'
import { Link, Outlet, useNavigate, useParams } from '@tanstack/react-router'
import { useSyncExternalStore } from 'react'
import { atrium, calls, queries, signIn, signOut } from '../api'
import { t } from '../text'
import { Button } from '../ui/basics'
import { InlineSelect } from '../ui/form'
import { Dialog } from '../ui/overlays'
import { Calls } from './calls'
import { Palette } from './palette'
import { firstPage, useMe, useWorkspace } from './workspace'

export const areas = [
  { path: 'prompts', label: t.prompts, key: 'p' },
  { path: 'chats', label: t.chats, key: 'c' },
  { path: 'sources', label: t.sources, key: 's' },
  { path: 'connections', label: t.connections, key: 'k' },
  { path: 'presence', label: t.presence, key: 'r' },
  { path: 'billing', label: t.billing, key: 'b' },
  { path: 'settings/members', label: t.settings, key: 'm' },
] as const

const operators = { path: 'people', label: t.people } as const

export function Shell() {
  const workspace = useWorkspace()
  const me = useMe()
  const ended = useSyncExternalStore(calls.subscribe, calls.ended)
  return (
    <div className="min-h-screen md:grid md:grid-cols-[14rem_minmax(0,1fr)]">
      <a href="#content" className="sr-only focus:not-sr-only focus:absolute focus:z-30 focus:bg-card focus:p-2">{t.skip}</a>
      <nav
        aria-label={t.areas}
        className="flex flex-wrap items-center gap-1 border-b border-line bg-card p-3 md:block md:min-h-screen md:border-r
          md:border-b-0 md:p-4"
      >
        <div className="mr-auto md:mb-4"><Workspaces /></div>
        {[...areas, ...(me.data?.user.operator ? [operators] : [])].map((area) => (
          <Link
            key={area.path}
            to={`/w/${workspace}/${area.path}` as string}
            activeProps={{ className: 'bg-markbg font-medium text-act' }}
            inactiveProps={{ className: 'text-ink' }}
            className="block rounded-md px-2.5 py-1.5 no-underline hover:bg-hover"
          >
            {area.label}
          </Link>
        ))}
        <div className="ml-auto text-xs text-soft md:mt-8 md:ml-0">
          <p className="m-0 hidden break-words md:block">{me.data?.user.email ?? me.data?.user.name} · {me.data?.role}</p>
          <Button tone="quiet" className="md:mt-1 md:-ml-3" onClick={() => void signOut()}>{t.signOut}</Button>
        </div>
        <Palette />
      </nav>
      <main id="content" tabIndex={-1} className="min-w-0 p-4 outline-none md:p-8">
        <Outlet />
        <Calls />
      </main>
      <Dialog open={ended} onClose={() => {}} title={t.ended}>
        <p>{t.endedAbout}</p>
        <div className="flex flex-wrap gap-2">
          <Button tone="act" onClick={signIn}>{t.signIn}</Button>
          <Button onClick={() => { calls.resume(); void queries.invalidateQueries() }}>{t.signedInAgain}</Button>
        </div>
      </Dialog>
    </div>
  )
}

function Workspaces() {
  const workspace = useWorkspace()
  const navigate = useNavigate()
  const list = useQuery({
    queryKey: ['workspaces'], queryFn: () => firstPage(atrium.workspaces.list({ limit: 100 })).then((page) => page.data),
  })
  const all = list.data ?? []
  const name = all.find((w) => w.slug === workspace)?.name ?? workspace
  if (all.length < 2) return <p className="m-0 px-2.5 font-semibold break-words">{name}</p>
  return (
    <InlineSelect
      label={t.workspace}
      value={workspace}
      choices={all.map((w) => ({ value: w.slug, label: w.name }))}
      onChange={(e) => void navigate({ to: `/w/${e.target.value}/prompts` as string })}
    />
  )
}

export function NotFound() {
  const { workspace } = useParams({ strict: false }) as { workspace?: string }
  return (
    <div className="p-8">
      <h1 className="text-xl font-semibold">{t.notFound}</h1>
      <Link to={workspace ? (`/w/${workspace}/prompts` as string) : '/'}>{t.backHome}</Link>
    </div>
  )
}

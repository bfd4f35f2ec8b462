import { AtriumError } from '@atrium-hq/client'
import { useQuery } from '@tanstack/react-query'
import { Link, Outlet, useLocation, useNavigate, useParams } from '@tanstack/react-router'
import { useSyncExternalStore } from 'react'
import { atrium, calls, queries, signIn, signOut } from '../api'
import { t } from '../text'
import { Button } from '../ui/basics'
import { InlineSelect } from '../ui/form'
import { Dialog } from '../ui/overlays'
import { Calls } from './calls'
import { useLive } from './live'
import { Palette } from './palette'
import { Toasts } from './toast'
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
  const path = useLocation().pathname
  const me = useMe()
  useLive()
  const ended = useSyncExternalStore(calls.subscribe, calls.ended)
  return (
    <div className="min-h-screen md:grid md:grid-cols-[14rem_minmax(0,1fr)]">
      <a href="#content" className="sr-only focus:not-sr-only focus:absolute focus:z-30 focus:bg-card focus:p-2">{t.skip}</a>
      <nav
        aria-label={t.areas}
        className="grid grid-cols-[minmax(0,1fr)_auto_auto] items-center border-b border-line bg-card px-2 pt-2 md:sticky md:top-0
          md:flex md:h-screen md:flex-col md:items-stretch md:overflow-y-auto md:border-r md:border-b-0 md:p-4"
      >
        <div className="min-w-0 md:mb-4"><Workspaces /></div>
        <ul className="order-last col-span-3 m-0 flex list-none gap-1 overflow-x-auto p-0 py-2 md:order-none md:block md:p-0">
          {[...areas, ...(me.data?.user.operator ? [operators] : [])].map((area) => {
            const here = path.startsWith(`/w/${workspace}/${area.path.split('/')[0]}`)
            return (
              <li key={area.path}>
                <Link
                  to={`/w/${workspace}/${area.path}` as string} aria-current={here ? 'page' : undefined}
                  ref={(link) => { if (here) link?.scrollIntoView({ block: 'nearest', inline: 'nearest' }) }}
                  className={`block rounded-md px-2.5 py-1.5 whitespace-nowrap no-underline hover:bg-hover
                    ${here ? 'bg-markbg font-medium text-act' : 'text-ink'}`}
                >
                  {area.label}
                </Link>
              </li>
            )
          })}
        </ul>
        <p className="m-0 mt-8 hidden px-2.5 text-xs break-words text-soft md:block">
          {me.data?.user.email ?? me.data?.user.name}<br />{me.data?.role}
        </p>
        <Button tone="quiet" className="md:justify-start md:px-2.5" onClick={() => void signOut()}>{t.signOut}</Button>
        <Palette />
      </nav>
      <main id="content" tabIndex={-1} className="min-w-0 p-4 outline-none md:p-8">
        <Failed />
        <Outlet />
        <Calls />
      </main>
      <Toasts />
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

const cache = queries.getQueryCache()

/** Whether the server, not the caller, is why a part of the page is missing. */
const failed = () => cache.getAll().some((q) => q.isActive() && q.state.status === 'error' && q.state.fetchStatus === 'idle'
  && !(AtriumError.is(q.state.error) && q.state.error.status < 500))

/** Offers to load again what is missing. */
function Failed() {
  const shown = useSyncExternalStore((told) => cache.subscribe(told), failed)
  if (!shown) return null
  return (
    <p role="alert" className="mt-0 mb-4 flex flex-wrap items-center gap-3 rounded-md border border-warn bg-warnbg px-3 py-2 text-warn">
      {t.failed}<Button onClick={() => void queries.refetchQueries({ predicate: (q) => q.state.status === 'error' })}>{t.again}</Button>
    </p>
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

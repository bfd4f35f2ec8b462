import { AtriumError } from '@atrium-hq/client'
import { useQuery } from '@tanstack/react-query'
import { Link, Outlet, useLocation, useNavigate, useParams } from '@tanstack/react-router'
import { useEffect, useRef, useSyncExternalStore } from 'react'
import { atrium, calls, isLimited, queries, signOut } from '../api'
import { t } from '../text'
import { Button, IconButton } from '../ui/basics'
import {
  BillingIcon, ChatsIcon, ChooseIcon, ConnectionsIcon, PeopleIcon, PresenceIcon, PromptsIcon, RevenueIcon, SettingsIcon, SignOutIcon, SourcesIcon,
} from '../ui/icons'
import { Calls } from './calls'
import { Ended } from './ended'
import { useLive } from './live'
import { bringIntoRow } from '../ui/overlays'
import { useShownTitle, useTitle } from '../ui/title'
import { Palette } from './palette'
import { SecondFactor } from './second-factor'
import { Toasts } from './toast'
import { firstPage, useMe, useWorkspace } from './workspace'

/** The areas of the console. Keys are those after g. */
export const areas = [
  { path: 'prompts', label: t.prompts, icon: PromptsIcon },
  { path: 'chats', label: t.chats, icon: ChatsIcon },
  { path: 'sources', label: t.sources, icon: SourcesIcon },
  { path: 'connections', label: t.connections, icon: ConnectionsIcon },
  { path: 'presence', label: t.presence, icon: PresenceIcon },
  { path: 'billing', label: t.billing, icon: BillingIcon },
  { path: 'settings/members', label: t.settings, icon: SettingsIcon },
] as const

const operators = [
  { path: 'people', label: t.people, icon: PeopleIcon },
  { path: 'revenue', label: t.revenue, icon: RevenueIcon },
] as const

/** The screens that work in a session without the second factor that the organisation requires. */
const concernsOwnSignIn = /\/settings\/(passkeys|sessions)\/?$/

export function Shell() {
  const workspace = useWorkspace()
  const path = useLocation().pathname
  const me = useMe()
  const current = useRef<HTMLAnchorElement>(null)
  useEffect(() => bringIntoRow(current.current), [path])
  useLive()
  const ended = useSyncExternalStore(calls.subscribe, calls.ended)
  const needsFactor = me.data?.second_factor_required ?? false
  return (
    <div className="min-h-screen md:grid md:grid-cols-[15rem_minmax(0,1fr)]">
      <a href="#content" className="sr-only focus:not-sr-only focus:absolute focus:z-30 focus:bg-card focus:p-2">{t.skip}</a>
      <nav
        aria-label={t.areas}
        className="grid grid-cols-[minmax(0,1fr)_auto_auto] items-center border-b border-line bg-card px-2 pt-2 md:sticky md:top-0
          md:flex md:h-screen md:flex-col md:items-stretch md:overflow-y-auto md:border-e md:border-b-0 md:p-3"
      >
        <div className="min-w-0 md:mb-2"><Workspaces /></div>
        <Palette />
        <ul data-row className="order-last col-span-3 m-0 flex list-none gap-1 overflow-x-auto [scrollbar-width:none] p-0 py-2 md:order-none md:mt-3 md:block md:overflow-visible md:py-0">
          {[...areas, ...(me.data?.user.operator ? operators : [])].map(({ path: to, label, icon: Icon }) => {
            const here = path.startsWith(`/w/${workspace}/${to.split('/')[0]}`)
            return (
              <li key={to}>
                <Link
                  to={`/w/${workspace}/${to}` as string} aria-current={here ? 'page' : undefined}
                  ref={here ? current : undefined}
                  className={`flex items-center gap-2.5 rounded-md px-2.5 py-1.5 whitespace-nowrap no-underline
                    ${here ? 'bg-markbg font-medium text-act' : 'text-ink hover:bg-hover'}`}
                >
                  <Icon size={16} aria-hidden="true" className={here ? '' : 'text-soft'} />{label}
                </Link>
              </li>
            )
          })}
        </ul>
        <div className="flex items-center gap-2 md:mt-auto md:border-t md:border-line md:pt-3">
          <Initial of={me.data?.user.name || me.data?.user.email || ''} className="hidden rounded-full md:flex" />
          <p className="m-0 me-auto hidden min-w-0 text-xs leading-4 md:block">
            <span className="block truncate font-medium">{me.data?.user.email ?? me.data?.user.name}</span>
            <span className="block text-soft">{me.data?.role}</span>
          </p>
          <IconButton label={t.signOut} onClick={() => void signOut()}><SignOutIcon size={16} aria-hidden="true" /></IconButton>
        </div>
      </nav>
      <main id="content" tabIndex={-1} className="min-w-0 p-4 outline-none md:px-8 md:py-7">
        <div className="mx-auto max-w-6xl">
          <Failed />
          <Limited />
          <FailingWebhooks />
          {needsFactor && <SecondFactor />}
          {(!needsFactor || concernsOwnSignIn.test(path)) && <Outlet />}
          <Calls />
        </div>
      </main>
      <p role="status" aria-label={t.screen} className="sr-only">{useShownTitle()}</p>
      <Toasts />
      <Ended open={ended} />
    </div>
  )
}

/** The first letter of a name, where others have a picture. */
function Initial({ of, className = '' }: { of: string; className?: string }) {
  return (
    <span aria-hidden="true" className={`flex size-7 shrink-0 items-center justify-center bg-markbg text-xs font-semibold text-act uppercase ${className}`}>
      {of.slice(0, 1)}
    </span>
  )
}

const cache = queries.getQueryCache()

/** Whether the server, not the caller, is why a part of the page is missing. */
const failed = () => cache.getAll().some((q) => q.isActive() && q.state.status === 'error' && q.state.fetchStatus === 'idle'
  && !(AtriumError.is(q.state.error) && q.state.error.status < 500 && q.state.error.status !== 429))

/** Whether something on the page waits until the server allows more requests. */
const limited = () => calls.wait() || cache.getAll().some((q) => q.isActive() && q.state.fetchStatus !== 'idle' && isLimited(q.state.fetchFailureReason))

function FailingWebhooks() {
  const workspace = useWorkspace()
  const n = useMe().data?.failing_webhooks
  if (!n) return null
  return (
    <p className="mt-0 mb-4 rounded-md border border-warn bg-warnbg px-3 py-2 text-warn">
      {t.failingWebhooks(n)}{' '}
      <Link className="text-warn" to={`/w/${workspace}/settings/webhooks` as string}>{t.failingWebhooksLook}</Link>
    </p>
  )
}

/** Loads again what is missing. Calls that began before that can still fail: these are repeated once, too. */
async function loadAgain() {
  const begun = cache.findAll({ fetchStatus: 'fetching' })
  void queries.refetchQueries({ predicate: (q) => q.state.status === 'error' })
  await Promise.allSettled(begun.map((q) => q.promise))
  void queries.refetchQueries({ predicate: (q) => q.state.status === 'error' && begun.includes(q) })
}

/** Offers to load again what is missing. */
function Failed() {
  const shown = useSyncExternalStore((told) => cache.subscribe(told), failed)
  if (!shown) return null
  return (
    <p role="alert" className="mt-0 mb-4 flex flex-wrap items-center gap-3 rounded-md border border-warn bg-warnbg px-3 py-2 text-warn">
      {t.failed}<Button onClick={() => void loadAgain()}>{t.again}</Button>
    </p>
  )
}

/** Says that what is missing is still to come. */
function Limited() {
  const shown = useSyncExternalStore((told) => {
    const stops = [cache.subscribe(told), calls.subscribe(told)]
    return () => { for (const stop of stops) stop() }
  }, limited)
  if (!shown) return null
  return <p role="alert" className="mt-0 mb-4 rounded-md border border-warn bg-warnbg px-3 py-2 text-warn">{t.limited}</p>
}

function Workspaces() {
  const workspace = useWorkspace()
  const navigate = useNavigate()
  const list = useQuery({
    queryKey: ['workspaces'], queryFn: () => firstPage(atrium.workspaces.list({ limit: 100 })).then((page) => page.data),
  })
  const all = list.data ?? []
  const name = all.find((w) => w.slug === workspace)?.name ?? workspace
  return (
    <div className="relative flex items-center gap-2.5 rounded-md px-1.5 py-1 has-[select]:hover:bg-hover has-[select:focus-visible]:outline-2">
      <Initial of={name} className="rounded-md" />
      <span className="min-w-0 truncate font-semibold">{name}</span>
      {all.length > 1 && (
        <>
          <ChooseIcon size={14} aria-hidden="true" className="ms-auto shrink-0 text-soft" />
          <select
            aria-label={t.workspace} value={workspace} className="absolute inset-0 w-full cursor-pointer opacity-0"
            onChange={(e) => void navigate({ to: `/w/${e.target.value}/prompts` as string })}
          >
            {all.map((w) => <option key={w.slug} value={w.slug}>{w.name}</option>)}
          </select>
        </>
      )}
    </div>
  )
}

export function NotFound() {
  const { workspace } = useParams({ strict: false }) as { workspace?: string }
  useTitle(t.notFound)
  return (
    <div className={workspace ? '' : 'p-8'}>
      <h1 className="mt-0 text-xl font-semibold">{t.notFound}</h1>
      <Link to={workspace ? (`/w/${workspace}/prompts` as string) : '/'}>{t.backHome}</Link>
    </div>
  )
}

import { CSPProvider } from '@base-ui/react/csp-provider'
import { DirectionProvider } from '@base-ui/react/direction-provider'
import { QueryClientProvider } from '@tanstack/react-query'
import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect, RouterProvider } from '@tanstack/react-router'
import { AtriumError } from '@atrium-hq/client'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { t } from './text'
import { atrium, calls, queries, signIn } from './api'
import { Failure } from './app/failure'
import { NotFound, Shell } from './app/shell'
import { adopt, person, proof } from './person'
import { ShownError } from './ui/shown-error'
import './app.css'

const root = createRootRoute({ notFoundComponent: NotFound, errorComponent: Failure })

/** A path that leads to a screen of the person's workspace. */
const leading = (path: string, place: string) => createRoute({
  getParentRoute: () => root,
  path,
  loader: async () => {
    let me
    try {
      me = await atrium.me.get()
    } catch (e) {
      if (!AtriumError.is(e, 'unauthenticated')) throw e
      signIn()
      return new Promise<never>(() => {}) // the page is being left
    }
    const first = me.workspace ?? me.workspaces[0]
    if (!first) throw new ShownError(t.youAreInNo)
    throw redirect({ to: `/w/${first.slug}/${place}` as string })
  },
})

const shell = createRoute({ getParentRoute: () => root, path: '/w/$workspace', component: Shell, notFoundComponent: NotFound })

const consent = createRoute({
  getParentRoute: () => root, path: '/consent',
  component: lazyRouteComponent(async () => ({ default: (await import('./areas/consent')).Consent })),
})

function screen<P extends string>(path: P, load: () => Promise<Record<string, unknown>>, name: string) {
  return createRoute({
    getParentRoute: () => shell, path, component: lazyRouteComponent(load as never, name as never),
    // Another thing does not begin with the version, the tab and the dialog of the one before.
    remountDeps: ({ params }) => (params as { id?: string }).id,
  })
}

const screens = [
  screen('prompts', () => import('./areas/prompts'), 'Prompts'),
  screen('prompts/$id', () => import('./areas/prompt'), 'Prompt'),
  screen('chats', () => import('./areas/chats'), 'Chats'),
  screen('chats/$id', () => import('./areas/chat'), 'Chat'),
  screen('chats/$id/preview', () => import('./areas/chat'), 'ChatPreview'),
  screen('sources', () => import('./areas/sources'), 'Sources'),
  screen('sources/new', () => import('./areas/mapping'), 'NewSource'),
  screen('sources/$id', () => import('./areas/source'), 'Source'),
  screen('connections', () => import('./areas/connections'), 'Connections'),
  screen('connections/new/$kind', () => import('./areas/connect'), 'Connect'),
  screen('presence', () => import('./areas/presence'), 'Presence'),
  screen('billing', () => import('./areas/billing'), 'Billing'),
  screen('people', () => import('./areas/people'), 'People'),
  screen('revenue', () => import('./areas/revenue'), 'Revenue'),
  screen('people/directory', () => import('./areas/directory'), 'Directory'),
  screen('settings/$tab', () => import('./areas/settings'), 'Settings'),
]

const router = createRouter({
  routeTree: root.addChildren([leading('/', 'prompts'), leading('/passkeys', 'settings/passkeys'), consent, shell.addChildren(screens)]),
  basepath: new URL(document.baseURI).pathname,
  defaultPreload: 'intent',
})
router.subscribe('onBeforeNavigate', (e) => {
  if (e.pathChanged) calls.clear()
})

function show() {
  createRoot(document.getElementById('root')!).render(
    <StrictMode>
      <CSPProvider disableStyleElements>
        <DirectionProvider direction={document.dir === 'rtl' ? 'rtl' : 'ltr'}>
          <QueryClientProvider client={queries}>
            <RouterProvider router={router} />
          </QueryClientProvider>
        </DirectionProvider>
      </CSPProvider>
    </StrictMode>,
  )
}

// A visitor who has not signed in here has no session that could have ended.
if (!proof()) signIn()
else if (person) show()
else void atrium.me.get().then((me) => adopt(me.user.id), signIn)

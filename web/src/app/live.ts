import { useEffect } from 'react'
import { atrium, queries } from '../api'
import { usePermission, useRoles, useWorkspace } from './workspace'

/** What the screens show, as the first part of their keys, by the first word of the events that change it. */
const concerned: Record<string, string[]> = {
  prompt: [
    'prompts', 'prompt', 'versions', 'version', 'activations', 'requests', 'request', 'checks', 'rollouts', 'feedback', 'shares', 'folders', 'start',
    'entitlements', 'named',
  ],
  folder: ['folder-shares', 'folders', 'prompts', 'prompt', 'start'],
  chat: ['chats', 'chat', 'chat-members', 'chat-diff', 'publications', 'start', 'entitlements', 'named'],
  embed: ['embed', 'chat', 'start', 'entitlements'],
  source: ['sources', 'source', 'jobs', 'changes', 'connections', 'start', 'entitlements', 'named'],
  connection: ['connections', 'sources', 'source', 'entitlements'],
  api: ['keys', 'start'],
  group: ['groups', 'group', 'prompts', 'prompt', 'chats', 'chat', 'me', 'named'],
  member: ['members', 'member-list', 'group', 'chat-members', 'people', 'me', 'entitlements'],
  invitation: ['invitations', 'chat-members', 'entitlements'],
  user: ['people', 'members', 'member-list', 'me'],
  workspace: ['workspace', 'workspaces', 'me'],
  session: ['sessions', 'people'],
  passkey: ['passkeys'],
  webhook: ['webhooks', 'webhook', 'deliveries'],
  ...Object.fromEntries(['subscription', 'invoice', 'payment', 'payments', 'trial', 'card', 'usage']
    .map((word) => [word, ['plans', 'entitlements', 'subscription', 'methods', 'billing-details', 'invoices', 'me']])),
}

const readBefore = (q: { queryKey: readonly unknown[]; state: { dataUpdatedAt: number } }) =>
  q.state.dataUpdatedAt > 0 && q.queryKey[0] !== 'me' && Object.values(concerned).flat().includes(String(q.queryKey[0]))

/** Reads again what events are about. Reading must not itself be an event that leads to reading. */
class Refresher {
  private types = new Set<string>()
  private timer: ReturnType<typeof setTimeout> | undefined
  private last = 0

  /** Takes the type of an event, or '' if any may have been missed. At most one round a second follows. */
  add(type: string) {
    this.types.add(type)
    this.timer ??= setTimeout(() => this.run(), Math.max(150, this.last + 1000 - Date.now()))
  }

  stop() {
    clearTimeout(this.timer)
  }

  private run() {
    this.timer = undefined
    this.last = Date.now()
    const all = this.types.has('')
    const keys = new Set(['events'])
    for (const type of this.types) {
      if (/\.(previewed|read)$|^payment_mirror/.test(type)) continue
      for (const key of concerned[type.split(/[._]/)[0] ?? ''] ?? []) keys.add(key)
    }
    this.types.clear()
    void queries.invalidateQueries({
      predicate: ({ queryKey: [first] }) => (all ? Object.values(concerned).flat() : [...keys]).includes(String(first)),
      refetchType: document.hidden ? 'none' : 'active', // a hidden tab reads again when it gets the focus
    })
  }
}

/**
 * Follows the events of the workspace, and reads again what they change on the screen. All tabs of a browser share one
 * stream for each workspace: browsers open few connections to a server. Who may not read all events reads again every half
 * minute, too, and when a tab gets the focus.
 */
export function useLive() {
  const workspace = useWorkspace()
  const all = usePermission()('events.read')
  const may = useRoles().length > 0 // guests have no role
  useEffect(() => {
    if (!may) return
    const stop = new AbortController(), refresher = new Refresher()
    const again = all ? undefined : setInterval(() => document.hidden || refresher.add(''), 30_000)
    const name = `atrium-events-${new URL(document.baseURI).pathname}-${workspace}`
    const others = new BroadcastChannel(name)
    let seen: number | undefined // the place of the latest event, from which this tab follows if the one before has gone
    const hear = (told: { type: string; seq: number | undefined }) => {
      seen = told.seq ?? seen
      refresher.add(told.type)
    }
    others.onmessage = (e: MessageEvent<{ type: string; seq: number | undefined }>) => hear(e.data)
    const follow = async () => {
      const from = seen === undefined ? {} : { after: seen }
      for await (const { name: kind, data, id } of atrium.events.stream(from, { workspace, signal: stop.signal })) {
        const told = { type: kind === 'reset' ? '' : (data?.type ?? ''), seq: id ? Number(id) : undefined }
        hear(told)
        others.postMessage(told)
      }
    }
    // What was read before this tab listened can have changed since.
    if (queries.getQueryCache().findAll({ predicate: readBefore }).length > 0) refresher.add('')
    // Locks are there on https and on this machine only. Elsewhere each tab has a stream of its own.
    const run = navigator.locks ? navigator.locks.request(name, { signal: stop.signal }, follow) : follow()
    run.catch(() => {}) // refused: the tab reads again when it gets the focus
    return () => {
      stop.abort()
      clearInterval(again)
      refresher.stop()
      others.close()
    }
  }, [workspace, may, all])
}

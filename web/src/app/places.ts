import { t } from '../text'

/** A screen, or what it can do at once (does), as the list of commands names it. Keys are those after g. */
export interface Place { label: string; path: string; key?: string; does?: boolean; needs?: string; operator?: boolean }

export const places: Place[] = [
  { label: t.prompts, path: 'prompts', key: 'p' },
  { label: t.chats, path: 'chats', key: 'c' },
  { label: t.sources, path: 'sources', key: 's' },
  { label: t.connections, path: 'connections', key: 'k' },
  { label: t.presence, path: 'presence', key: 'r' },
  { label: t.billing, path: 'billing', key: 'b' },
  { label: t.membersAndInvitations, path: 'settings/members', key: 'm' },
  { label: t.groups, path: 'settings/groups' },
  { label: t.apiKeys, path: 'settings/keys' },
  { label: t.failingWebhooksLook, path: 'settings/webhooks', needs: 'webhooks.manage' },
  { label: t.yourSessions, path: 'settings/sessions' },
  { label: t.yourPasskeys, path: 'settings/passkeys' },
  { label: t.thisWorkspace, path: 'settings/workspace' },
  { label: t.auditTrail, path: 'settings/audit', key: 'a', needs: 'events.read' },
  { label: t.people, path: 'people', operator: true },
  { label: t.revenue, path: 'revenue', operator: true },
  { label: t.directoryRequests, path: 'people/directory', operator: true },
  { label: t.newPrompt, path: 'prompts?new', does: true, needs: 'prompt_templates.create' },
  { label: t.newChat, path: 'chats?new', does: true, needs: 'chat_templates.create' },
  { label: t.newSource, path: 'sources/new', does: true, needs: 'sources.create' },
  { label: t.newKey, path: 'settings/keys?new', does: true, needs: 'api_keys.create' },
  { label: t.invite, path: 'settings/members?new', does: true, needs: 'members.manage' },
]

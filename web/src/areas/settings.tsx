import { useNavigate } from '@tanstack/react-router'
import { useMe, useParam, usePermission, useWorkspace } from '../app/workspace'
import { t } from '../text'
import { Heading } from '../ui/basics'
import { Tabs } from '../ui/overlays'
import { Audit } from './settings-audit'
import { Groups } from './settings-groups'
import { Keys } from './settings-keys'
import { Members } from './settings-members'
import { Passkeys } from './settings-passkeys'
import { Sessions } from './settings-sessions'
import { Webhooks } from './settings-webhooks'
import { WorkspaceSettings } from './settings-workspace'

export function Settings() {
  const workspace = useWorkspace()
  const navigate = useNavigate()
  const tab = useParam('tab')
  const may = usePermission()
  const isKnown = !useMe().isPending // which tabs the role has
  const tabs = [
    { id: 'members', label: t.members, body: <Members /> },
    { id: 'groups', label: t.groups, body: <Groups /> },
    { id: 'keys', label: t.apiKeys, body: <Keys /> },
    ...(may('webhooks.manage') ? [{ id: 'webhooks', label: t.failingWebhooksLook, body: <Webhooks /> }] : []),
    { id: 'sessions', label: t.yourSessions, body: <Sessions /> },
    { id: 'passkeys', label: t.yourPasskeys, body: <Passkeys /> },
    { id: 'workspace', label: t.workspace, body: <WorkspaceSettings /> },
    ...(may('events.read') ? [{ id: 'audit', label: t.auditTrail, body: <Audit /> }] : []),
  ]
  const shown = tabs.find((one) => one.id === tab)
  return (
    <>
      <Heading title={t.settings} part={shown?.label} />
      {(shown || isKnown) && <Tabs value={tab} onChange={(id) => void navigate({ to: `/w/${workspace}/settings/${id}` as string })} tabs={tabs} />}
    </>
  )
}

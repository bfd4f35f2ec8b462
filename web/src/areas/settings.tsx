import { useNavigate } from '@tanstack/react-router'
import { useParam, usePermission, useWorkspace } from '../app/workspace'
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
  return (
    <>
      <Heading title={t.settings} />
      <Tabs
        value={tab} onChange={(id) => void navigate({ to: `/w/${workspace}/settings/${id}` as string })}
        tabs={[
          { id: 'members', label: 'Members', body: <Members /> },
          { id: 'groups', label: 'Groups', body: <Groups /> },
          { id: 'keys', label: 'API keys', body: <Keys /> },
          ...(may('webhooks.manage') ? [{ id: 'webhooks', label: 'Webhooks', body: <Webhooks /> }] : []),
          { id: 'sessions', label: 'Your sessions', body: <Sessions /> },
          { id: 'passkeys', label: 'Your passkeys', body: <Passkeys /> },
          { id: 'workspace', label: 'Workspace', body: <WorkspaceSettings /> },
          ...(may('events.read') ? [{ id: 'audit', label: 'Audit trail', body: <Audit /> }] : []),
        ]}
      />
    </>
  )
}

import { useNavigate } from '@tanstack/react-router'
import { useParam, usePermission, useWorkspace } from '../app/workspace'
import { t } from '../text'
import { Heading } from '../ui/basics'
import { Tabs } from '../ui/overlays'
import { Audit } from './settings-audit'
import { Keys } from './settings-keys'
import { Members } from './settings-members'
import { Sessions } from './settings-sessions'

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
          { id: 'keys', label: 'API keys', body: <Keys /> },
          { id: 'sessions', label: 'Your sessions', body: <Sessions /> },
          ...(may('events.read') ? [{ id: 'audit', label: 'Audit trail', body: <Audit /> }] : []),
        ]}
      />
    </>
  )
}

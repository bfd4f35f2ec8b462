import type { Member } from '@atrium-hq/client'
import { useState } from 'react'
import { atrium, queries } from '../api'
import { useMutation } from '../app/mutation'
import { toast } from '../app/toast'
import { useCreating, useList, useMe, usePermission, useRoles, useWorkspace } from '../app/workspace'
import { t } from '../text'
import { words } from '../text/settings'
import { About, Button, Copy, fieldErrors, Pill, Problem, When } from '../ui/basics'
import { Form, InlineSelect, Input, Select } from '../ui/form'
import { AddIcon } from '../ui/icons'
import { Confirm, Dialog } from '../ui/overlays'
import { More, Table } from '../ui/table'
import { Access } from './access'
import { Losses } from './settings-losses'

export function Members() {
  const workspace = useWorkspace()
  const may = usePermission()
  const me = useMe()
  const manages = may('members.manage')
  const roles = useRoles()
  const isOwner = roles.includes('owner')
  const mayChange = (m: { user_id: string; role: string }) => manages && m.user_id !== me.data?.user.id && roles.includes(m.role)
  const [inviting, setInviting] = useCreating()
  const list = useList(['member-list', workspace], (cursor) => atrium.workspaces.members.list(workspace, { limit: 50, ...(cursor && { cursor }) }))
  const refresh = () => queries.invalidateQueries({ queryKey: ['member-list', workspace] })
  const change = useMutation({
    mutationFn: (v: { user: string; role: string; before: string }) => atrium.workspaces.members.update(workspace, v.user, { role: v.role }),
    onSuccess: (_, v) => toast(t.saved, () => atrium.workspaces.members.update(workspace, v.user, { role: v.before }).then(refresh)),
    onSettled: refresh,
  })
  const [lowered, setLowered] = useState<{ member: Member; role: string }>()
  const to = (m: Member, role: string) => {
    if (roles.indexOf(role) < roles.indexOf(m.role)) setLowered({ member: m, role })
    else change.mutate({ user: m.user_id, role, before: m.role })
  }
  return (
    <>
      <About
        actions={manages && (
          <Button tone="act" data-key="c" onClick={() => setInviting(true)}><AddIcon size={16} aria-hidden="true" />{t.invite}</Button>
        )}
      >
        {words.viewersReadMembersMake}
      </About>
      <Problem error={list.error ?? change.error} />
      {list.items.length > 0 && (
        <Table
          label={t.members} items={list.items} id={(m) => m.user_id} csv="members"
          columns={[
            {
              title: t.who, text: (m) => m.email ?? m.name,
              cell: (m) => <><span className="font-medium">{m.name || m.email}</span> {m.kind !== 'person' && <Pill>{m.kind}</Pill>}<p className="m-0 text-xs text-soft">{m.email}</p></>,
            },
            {
              title: t.role, narrow: true, text: (m) => m.role,
              cell: (m) => mayChange(m)
                ? <InlineSelect label={words.roleOf(m.name || m.email || '')} value={m.role} onChange={(e) => to(m, e.target.value)} choices={roles.map((r) => ({ value: r, label: r }))} />
                : m.role,
            },
            { title: words.since, narrow: true, text: (m) => m.created_at, cell: (m) => <When at={m.created_at} /> },
            {
              title: t.actions, narrow: true,
              cell: (m) => (
                <>
                  {isOwner && (
                    <Access
                      label={words.access} name={m.name || m.email || ''} id={`${workspace} ${m.user_id}`}
                      load={() => atrium.workspaces.members.access.get(workspace, m.user_id).then((a) => ({ workspaces: [a.workspace], truncated: a.truncated }))}
                    />
                  )}
                  {mayChange(m) && <Remove member={m} done={refresh} />}
                </>
              ),
            },
          ]}
        />
      )}
      <More list={list} />
      {manages && <Invitations />}
      {manages && inviting && <Invite onClose={() => setInviting(false)} />}
      {lowered && <Lower {...lowered} onClose={() => { setLowered(undefined); void refresh() }} />}
    </>
  )
}

/** Asks before a member gets a lower role, with what the member loses. */
function Lower({ member: m, role, onClose }: { member: Member; role: string; onClose: () => void }) {
  const workspace = useWorkspace()
  const [keep, setKeep] = useState(false)
  const change = useMutation({
    mutationFn: () => atrium.workspaces.members.update(workspace, m.user_id, { role, keep_service_keys: keep }),
    onSuccess: () => { toast(t.saved); onClose() },
  })
  return (
    <Dialog open onClose={onClose} title={words.lowerNameTo(m.name || m.email || '', role)}>
      <p className="mt-0">{words.theyLoseWhatTheir}</p>
      <Losses member={m.user_id} left={role} keep={keep} onKeep={setKeep} />
      <Problem error={change.error} />
      <div className="mt-4 flex flex-wrap justify-end gap-2">
        <Button data-safe onClick={onClose}>{t.cancel}</Button>
        <Button tone="danger" disabled={change.isPending} onClick={() => change.mutate()}>{words.lower}</Button>
      </div>
    </Dialog>
  )
}

function Remove({ member: m, done }: { member: Member; done: () => Promise<unknown> }) {
  const workspace = useWorkspace()
  const [keep, setKeep] = useState(false)
  return (
    <Confirm
      label={t.remove} title={words.removeNameName(m.name || m.email || '')} act={t.remove}
      body={<>{words.theirAccessToThe}<Losses member={m.user_id} left="" keep={keep} onKeep={setKeep} /></>}
      run={() => atrium.workspaces.members.remove(workspace, m.user_id, { keep_service_keys: keep }).then(done)}
    />
  )
}

function Invitations() {
  const workspace = useWorkspace()
  const roles = useRoles()
  const list = useList(['invitations', workspace], (cursor) => atrium.workspaces.invitations.list(workspace, { limit: 50, ...(cursor && { cursor }) }))
  const refresh = () => queries.invalidateQueries({ queryKey: ['invitations', workspace] })
  const open = list.items.filter((i) => i.status === 'pending')
  return (
    <div className="mt-6">
      <Problem error={list.error} />
      {open.length > 0 && (
        <>
          <h2 className="mb-2 text-base font-semibold">{words.openInvitations}</h2>
        <Table
          label={words.openInvitations} items={open} id={(i) => i.id}
          columns={[
            { title: words.invited, cell: (i) => i.email },
            { title: words.as, narrow: true, cell: (i) => i.role },
            { title: words.until, narrow: true, cell: (i) => <When at={i.expires_at} /> },
            {
              title: t.actions, narrow: true,
              cell: (i) => roles.includes(i.role) && (
                <Confirm
                  label={words.withdraw} title={words.withdrawTheInvitationOf(i.email)} act={words.withdraw} body={words.itsLinkNoLonger}
                  run={() => atrium.workspaces.invitations.delete(workspace, i.id).then(refresh)}
                />
              ),
            },
          ]}
        />
        </>
      )}
    </div>
  )
}

function Invite({ onClose }: { onClose: () => void }) {
  const workspace = useWorkspace()
  const roles = useRoles()
  const invite = useMutation({
    mutationFn: (v: Record<string, string>) => atrium.workspaces.invitations.create(workspace, { email: v.email ?? '', role: v.role ?? 'member' }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['invitations', workspace] }),
  })
  const wrong = fieldErrors(invite.error)
  return (
    <Dialog open onClose={onClose} title={t.invite}>
      {invite.data
        ? (
          <>
            <p className="mt-0">
              {invite.data.mailed ? words.theInvitationHasBeen(invite.data.email) : words.noMailWasSent(invite.data.email)}
            </p>
            <p><code className="rounded bg-hover px-2 py-1 break-all">{invite.data.accept_url}</code></p>
            <div className="flex gap-2"><Copy text={invite.data.accept_url} /><Button onClick={() => invite.reset()}>{t.inviteMore}</Button></div>
          </>
        )
        : (
          <Form send={t.inviteAct} busy={invite.isPending} onSend={(v) => invite.mutate(v)}>
            <Input name="email" type="email" label={t.eMailAddress} required maxLength={254} autoFocus error={wrong.email} />
            <Select name="role" label={t.role} defaultValue={words.member} choices={roles.map((r) => ({ value: r, label: r }))} error={wrong.role} />
            <Problem error={invite.error} />
          </Form>
        )}
    </Dialog>
  )
}

import { useMutation } from '@tanstack/react-query'
import { atrium, queries } from '../api'
import { useCreating, useList, useMe, usePermission, useWorkspace } from '../app/workspace'
import { t } from '../text'
import { About, Button, Copy, fieldErrors, Pill, Problem, When } from '../ui/basics'
import { Form, InlineSelect, Input, Select } from '../ui/form'
import { AddIcon } from '../ui/icons'
import { Confirm, Dialog } from '../ui/overlays'
import { More, Table } from '../ui/table'

const roles = ['viewer', 'member', 'admin', 'owner']

export function Members() {
  const workspace = useWorkspace()
  const may = usePermission()
  const me = useMe()
  const manages = may('members.manage')
  const [inviting, setInviting] = useCreating()
  const list = useList(['members list', workspace], (cursor) => atrium.workspaces.members.list(workspace, { limit: 50, ...(cursor && { cursor }) }))
  const refresh = () => queries.invalidateQueries({ queryKey: ['members list', workspace] })
  const change = useMutation({
    mutationFn: (v: { user: string; role: string }) => atrium.workspaces.members.update(workspace, v.user, { role: v.role }), onSettled: refresh,
  })
  return (
    <>
      <About
        actions={manages && (
          <Button tone="act" data-key="c" onClick={() => setInviting(true)}><AddIcon size={16} aria-hidden="true" />{t.invite}</Button>
        )}
      >
        Viewers read. Members make prompts and chats. Admins manage people, keys and payments. Owners can do everything.
      </About>
      <Problem error={list.error ?? change.error} />
      {list.items.length > 0 && (
        <Table
          label="Members" items={list.items} id={(m) => m.user_id} csv="members"
          columns={[
            {
              title: 'Who', text: (m) => m.email ?? m.name,
              cell: (m) => <><span className="font-medium">{m.name || m.email}</span> {m.kind !== 'person' && <Pill>{m.kind}</Pill>}<p className="m-0 text-xs text-soft">{m.email}</p></>,
            },
            {
              title: 'Role', narrow: true, text: (m) => m.role,
              cell: (m) => manages && m.user_id !== me.data?.user.id
                ? <InlineSelect label={`Role of ${m.name || m.email}`} value={m.role} onChange={(e) => change.mutate({ user: m.user_id, role: e.target.value })} choices={roles.map((r) => ({ value: r, label: r }))} />
                : m.role,
            },
            { title: 'Since', narrow: true, text: (m) => m.created_at, cell: (m) => <When at={m.created_at} /> },
            {
              title: t.actions, narrow: true,
              cell: (m) => manages && m.user_id !== me.data?.user.id && (
                <Confirm
                  label="Remove" title={`Remove ${m.name || m.email}`} act="Remove"
                  body="Their access to the workspace ends at once, with the service keys that they made."
                  run={() => atrium.workspaces.members.remove(workspace, m.user_id).then(refresh)}
                />
              ),
            },
          ]}
        />
      )}
      <More list={list} />
      {manages && <Invitations />}
      {manages && inviting && <Invite onClose={() => setInviting(false)} />}
    </>
  )
}

function Invitations() {
  const workspace = useWorkspace()
  const list = useList(['invitations', workspace], (cursor) => atrium.workspaces.invitations.list(workspace, { limit: 50, ...(cursor && { cursor }) }))
  const refresh = () => queries.invalidateQueries({ queryKey: ['invitations', workspace] })
  const open = list.items.filter((i) => i.status === 'pending')
  return (
    <div className="mt-6">
      <Problem error={list.error} />
      {open.length > 0 && (
        <>
          <h2 className="mb-2 text-base font-semibold">Open invitations</h2>
        <Table
          label="Open invitations" items={open} id={(i) => i.id}
          columns={[
            { title: 'Invited', cell: (i) => i.email },
            { title: 'As', narrow: true, cell: (i) => i.role },
            { title: 'Until', narrow: true, cell: (i) => <When at={i.expires_at} /> },
            {
              title: t.actions, narrow: true,
              cell: (i) => (
                <Confirm
                  label="Withdraw" title={`Withdraw the invitation of ${i.email}`} act="Withdraw" body="Its link no longer works."
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
              {invite.data.mailed ? `The invitation has been mailed to ${invite.data.email}. This is its link:` : `No mail was sent. Send this link to ${invite.data.email}:`}
            </p>
            <p><code className="rounded bg-hover px-2 py-1 break-all">{invite.data.accept_url}</code></p>
            <div className="flex gap-2"><Copy text={invite.data.accept_url} /><Button onClick={() => invite.reset()}>{t.inviteMore}</Button></div>
          </>
        )
        : (
          <Form send="Invite" busy={invite.isPending} onSend={(v) => invite.mutate(v)}>
            <Input name="email" type="email" label="E-mail address" required maxLength={254} autoFocus error={wrong.email} />
            <Select name="role" label="Role" defaultValue="member" choices={roles.map((r) => ({ value: r, label: r }))} error={wrong.role} />
            <Problem error={invite.error} />
          </Form>
        )}
    </Dialog>
  )
}

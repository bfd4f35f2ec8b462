import type { ChatMember, ChatTemplate } from '@atrium-hq/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { atrium, queries } from '../api'
import { useMutation } from '../app/mutation'
import { firstPage, useList, useMe, usePermission, useWorkspace } from '../app/workspace'
import { t } from '../text'
import { words } from '../text/chats'
import { About, Button, Copy, fieldErrors, Loading, Pill, Problem } from '../ui/basics'
import { Form, InlineSelect, Input, Select } from '../ui/form'
import { AddIcon } from '../ui/icons'
import { Confirm, Dialog } from '../ui/overlays'
import { More, Table } from '../ui/table'

const roles = ['viewer', 'editor', 'manager'].map((r) => ({ value: r, label: r }))
type Change = { user_id: string; role: 'viewer' | 'editor' | 'manager' | null }

/** The people who have a role on a chat. Its managers change one or many of them at a time. */
export function ChatMembers({ chat }: { chat: ChatTemplate }) {
  const workspace = useWorkspace()
  const may = usePermission()
  const me = useMe()
  const manages = ['manager', 'owner'].includes(chat.my_role)
  const [adding, setAdding] = useState(false)
  const [inviting, setInviting] = useState(false)
  const [picked, setPicked] = useState<string[]>([])
  const list = useList(['chat-members', chat.id], (cursor) => atrium.chatTemplates.members.list(chat.id, { limit: 100, ...(cursor && { cursor }) }, { workspace }))
  const refresh = () => queries.invalidateQueries({ queryKey: ['chat-members', chat.id] })
  const change = useMutation({
    mutationFn: (changes: Change[]) => atrium.chatTemplates.members.change(chat.id, { changes }, { workspace }),
    onSettled: refresh,
  })
  const to = (ids: string[], role: string | null) => ids.map((user_id) => ({ user_id, role: role as Change['role'] }))
  const name = (m: ChatMember) => m.name || m.email || m.user_id
  const mayChange = (m: ChatMember) => manages && m.role !== 'owner' && m.user_id !== me.data?.user.id
  const chosen = list.items.filter((m) => picked.includes(m.user_id))
  if (list.isPending) return <Loading />
  return (
    <>
      <About
        actions={manages && (
          <>
            {may('members.manage') && <Button onClick={() => setInviting(true)}>{words.inviteByEMail}</Button>}
            <Button tone="act" data-key="c" onClick={() => setAdding(true)}><AddIcon size={16} aria-hidden="true" />{words.addMembers}</Button>
          </>
        )}
      >
        {words.viewersSeeTheChat}
      </About>
      <Problem error={list.error ?? change.error} />
      {chosen.length > 0 && (
        <div role="group" aria-label={words.chosenMembers} className="mb-2 flex flex-wrap items-center gap-2">
          <span>{words.chosenCountCount(chosen.length)}</span>
          <InlineSelect
            label={words.roleOfTheChosen} value="" onChange={(e) => change.mutate(to(picked, e.target.value), { onSuccess: () => setPicked([]) })}
            choices={[{ value: '', label: words.changeRoleDialog }, ...roles]}
          />
          <Confirm
            label={t.remove} title={words.removeMembers(chosen.length)} act={t.remove}
            body={words.willNoLongerHave(chosen.map(name).join(', '))}
            run={() => change.mutateAsync(to(picked, null)).then(() => setPicked([]))}
          />
        </div>
      )}
      <Table
        label={t.members} items={list.items} id={(m) => m.user_id} csv="chat-members"
        columns={[
          ...(manages ? [{
            title: words.choose, narrow: true,
            cell: (m: ChatMember) => mayChange(m) && (
              <input
                type="checkbox" aria-label={words.chooseNameName(name(m))} checked={picked.includes(m.user_id)}
                onChange={(e) => setPicked(e.target.checked ? [...picked, m.user_id] : picked.filter((id) => id !== m.user_id))}
              />
            ),
          }] : []),
          {
            title: t.who, text: (m) => m.email ?? m.name,
            cell: (m) => (
              <>
                <span className="font-medium">{name(m)}</span> {m.status === 'invited' && <Pill tone="warn">{words.invited}</Pill>}
                {m.name && m.email && <p className="m-0 text-xs text-soft">{m.email}</p>}
              </>
            ),
          },
          {
            title: t.role, narrow: true, text: (m) => m.role,
            cell: (m) => mayChange(m)
              ? <InlineSelect label={words.roleOf(name(m))} value={m.role} onChange={(e) => change.mutate(to([m.user_id], e.target.value))} choices={roles} />
              : m.role,
          },
        ]}
      />
      <More list={list} />
      {adding && <Add chat={chat} present={list.items.map((m) => m.user_id)} onClose={() => setAdding(false)} onAdded={refresh} />}
      {inviting && <Invite chat={chat} onClose={() => setInviting(false)} onInvited={refresh} />}
    </>
  )
}

/** Adds people of the workspace. */
function Add({ chat, present, onClose, onAdded }: {
  chat: ChatTemplate
  present: string[]
  onClose: () => void
  onAdded: () => Promise<void>
}) {
  const workspace = useWorkspace()
  const [picked, setPicked] = useState<string[]>([])
  const members = useQuery({
    queryKey: ['members', workspace], queryFn: () => firstPage(atrium.workspaces.members.list(workspace, { limit: 100 })).then((p) => p.data),
  })
  const add = useMutation({
    mutationFn: (v: Record<string, string>) => atrium.chatTemplates.members.change(
      chat.id, { changes: picked.map((user_id) => ({ user_id, role: v.role as 'viewer' })) }, { workspace },
    ),
    onSuccess: async () => {
      await onAdded()
      onClose()
    },
  })
  const others = (members.data ?? []).filter((m) => !present.includes(m.user_id))
  return (
    <Dialog open onClose={onClose} title={words.addMembersTo(chat.name)}>
      {members.isPending && <Loading />}
      {members.isSuccess && others.length === 0 && <p className="mt-0">{words.everyoneInTheWorkspace}</p>}
      {others.length > 0 && (
        <Form send={picked.length > 1 ? words.addMembersCount(picked.length) : t.add} busy={add.isPending || picked.length === 0} onSend={(v) => add.mutate(v)}>
          <fieldset className="m-0 mb-3 max-h-64 overflow-y-auto rounded-lg border border-line p-3">
            <legend className="px-1 font-medium">{t.people}</legend>
            {others.map((m) => (
              <label key={m.user_id} className="mb-1 flex gap-2">
                <input
                  type="checkbox" checked={picked.includes(m.user_id)}
                  onChange={(e) => setPicked(e.target.checked ? [...picked, m.user_id] : picked.filter((id) => id !== m.user_id))}
                />
                <span>{m.name || m.email || m.user_id}{m.name && m.email && <span className="block text-xs text-soft">{m.email}</span>}</span>
              </label>
            ))}
          </fieldset>
          <Select name="role" label={t.role} choices={roles} />
          <Problem error={add.error} />
        </Form>
      )}
      <Problem error={members.error} />
    </Dialog>
  )
}

/** Invites a person from outside of the workspace. */
function Invite({ chat, onClose, onInvited }: { chat: ChatTemplate; onClose: () => void; onInvited: () => Promise<void> }) {
  const workspace = useWorkspace()
  const invite = useMutation({
    mutationFn: (v: Record<string, string>) => atrium.chatTemplates.members.create(
      chat.id, { email: v.email ?? '', role: v.role as 'viewer' }, { workspace },
    ),
    onSuccess: onInvited,
  })
  const wrong = fieldErrors(invite.error)
  const made = invite.data
  return (
    <Dialog open onClose={onClose} title={words.inviteTo(chat.name)}>
      {made
        ? (
          <>
            {made.accept_url
              ? (
                <>
                  <p className="mt-0">
                    {made.mailed ? words.theInvitationHasBeen(made.email ?? '') : words.noMailWasSent(made.email ?? '')}
                  </p>
                  <p><code className="rounded bg-hover px-2 py-1 break-all">{made.accept_url}</code></p>
                </>
              )
              : <p className="mt-0">{made.email ?? ''} {words.isInTheWorkspace}</p>}
            <div className="flex gap-2">
              {made.accept_url && <Copy text={made.accept_url} />}
              <Button onClick={() => invite.reset()}>{t.inviteMore}</Button>
            </div>
          </>
        )
        : (
          <Form send={t.inviteAct} busy={invite.isPending} onSend={(v) => invite.mutate(v)}>
            <Input
              name="email" type="email" label={t.eMailAddress} required maxLength={254} autoFocus error={wrong.email}
              hint={words.whoIsNotIn}
            />
            <Select name="role" label={words.roleOnThisChat} choices={roles} />
            <Problem error={invite.error} />
          </Form>
        )}
    </Dialog>
  )
}

import { AtriumError, type PromptMessage, type PromptVersion } from '@atrium-hq/client'
import { useQuery } from '@tanstack/react-query'
import { useMemo, useRef, useState } from 'react'
import { atrium, queries } from '../api'
import { useMutation } from '../app/mutation'
import { toast } from '../app/toast'
import { useDraft } from '../app/draft'
import { useShown } from '../app/shown'
import { Up } from '../app/up'
import { useList, useParam, usePermission, useWorkspace } from '../app/workspace'
import { keyOf } from '../person'
import { t } from '../text'
import { words } from '../text/prompts'
import { Button, Heading, Loading, Missing, Pill, Problem } from '../ui/basics'
import { Diff, Editor } from '../ui/editor'
import { Form, InlineSelect, Input, Select } from '../ui/form'
import { Menu } from '../ui/menu'
import { Dialog, Tabs } from '../ui/overlays'
import { Compare } from './prompt-compare'
import { Delete, Duplicate } from './prompt-more'
import { Ledger } from './prompt-history'
import { Outdated } from './prompt-outdated'
import { type Content, declared, Preview, readableOf, restOf, variablesOf } from './prompt-preview'
import { Includes, includesIn, useWhole } from './prompt-includes'
import { Settings } from './prompt-settings'
import { Reads } from './prompt-reads'
import { Breaks, Labels } from './prompt-labels'
import { Checks, Requests, Unfilled } from './prompt-requests'
import { PromptShares } from './prompt-shares'

/** What is edited of a version: its text, or its messages as JSON. */
function editedOf(v: PromptVersion | undefined): string {
  return v?.messages ? JSON.stringify(v.messages) : (v?.text ?? '')
}

/** What editedOf returned, as the API has it. */
function contentOf(edited: string, isChat: boolean): Content {
  return isChat ? { messages: edited ? JSON.parse(edited) as PromptMessage[] : [] } : { text: edited }
}

/** What editedOf returned, as people read it. */
function readable(edited: string, isChat: boolean): string {
  if (!isChat || edited === '') return edited
  return (JSON.parse(edited) as PromptMessage[]).map((m) => `${m.role ?? m.placeholder}:\n${readableOf(m)}`).join('\n\n')
}

/** The messages of a chat prompt, each text in an editor of its own. What else a message has stays as it is. */
function Messages({ messages, isBehind, onChange }: {
  messages: PromptMessage[]
  isBehind: boolean
  onChange?: (read: () => string) => void
}) {
  const typed = useRef(new Map<string, () => string>())
  const typedText = (key: string, text = '') => typed.current.get(key)?.() ?? text
  const read = () => JSON.stringify(messages.map((m, i) => {
    if (typeof m.content === 'string') return { ...m, content: typedText(`${i}`, m.content) }
    if (!m.content) return m
    return { ...m, content: m.content.map((part, k) => part.type === 'text' ? { ...part, text: typedText(`${i}.${k}`, part.text) } : part) }
  }))
  const editor = (key: string, label: string, text: string) => (
    <Editor
      key={key} label={label} value={text} isBehind={isBehind}
      {...(onChange && { onChange: (one: () => string) => { typed.current.set(key, one); onChange(read) } })}
    />
  )
  return messages.map((m, i) => {
    if (m.placeholder) return <p key={i} className="my-3 text-soft">{words.hereTheApplicationPuts} <code>{m.placeholder}</code>.</p>
    const role = m.role ?? words.message, rest = restOf(m)
    return (
      <div key={i} className="mb-3">
        <div className="mb-1 font-medium" aria-hidden="true">{role}</div>
        {typeof m.content === 'string'
          ? editor(`${i}`, role, m.content)
          : m.content?.map((part, k) => part.type === 'text' && editor(`${i}.${k}`, role, part.text ?? ''))}
        {rest && <pre className="mt-1 overflow-x-auto rounded-md border border-line bg-card p-2 text-soft">{rest}</pre>}
      </div>
    )
  })
}

/** A draft belongs to the version that it began with. */
const draftKeyOf = (prompt: string, version = 'none') => keyOf('draft', `${prompt}_${version}`)

export function Prompt() {
  const workspace = useWorkspace()
  const id = useParam('id')
  const may = usePermission()
  const o = { workspace }
  const [ref, setRef] = useShown('version', 'latest')
  const [tab, setTab] = useShown('tab', 'edit')
  const [activating, setActivating] = useState(false)
  const [labelling, setLabelling] = useState(false)
  const [more, setMore] = useState<'settings' | 'duplicate' | 'delete'>()
  const prompt = useQuery({ queryKey: ['prompt', id], queryFn: () => atrium.promptTemplates.get(id, o) })
  const versions = useList(['versions', id], (cursor) => atrium.promptTemplates.versions.list(id, { limit: 50, ...(cursor && { cursor }) }, o))
  const version = useQuery({
    queryKey: ['version', id, ref], enabled: (prompt.data?.version_count ?? 0) > 0,
    queryFn: () => atrium.promptTemplates.versions.get(id, ref, o),
  })
  const active = useQuery({
    queryKey: ['version', id, 'active'], enabled: !!prompt.data?.active_version,
    queryFn: () => atrium.promptTemplates.versions.get(id, 'active', o),
  })
  const whole = useWhole(version.data)
  const isChat = prompt.data?.type === 'chat'
  const latest = versions.items[0]?.number
  const stored = editedOf(version.data)
  const draft = useDraft(draftKeyOf(id, version.data?.id))
  const isDraft = draft.isBehind || draft.text !== undefined
  // Whoever edits or activates a version keeps it on the screen, also when somebody saves a later one.
  const pin = () => {
    if (!version.data || ref !== 'latest') return
    queries.setQueryData(['version', id, 'v' + version.data.number], version.data)
    setRef('v' + version.data.number, true)
  }
  const type = (read: () => string) => {
    pin()
    draft.change(() => {
      const text = read()
      return text === stored ? undefined : text
    })
  }
  const text = draft.text ?? stored
  const content = useMemo(() => contentOf(text, isChat), [text, isChat])
  const edited = draft.text === undefined ? undefined : content
  const sent = useRef(stored)
  const save = useMutation({
    mutationFn: ({ message, base }: { message: string; base?: string }) => {
      sent.current = draft.settle() ?? stored
      const now = contentOf(sent.current, isChat)
      return atrium.promptTemplates.versions.create(id, {
        ...now,
        ...(version.data && {
          format: version.data.format, model_config: version.data.model_config, tools: version.data.tools,
          base_version_id: base ?? version.data.id,
          ...(declared(version.data) && { variables: variablesOf(version.data, now) }),
          ...(version.data.response_format && { response_format: version.data.response_format }),
        }),
        ...(message && { commit_message: message }),
      }, o)
    },
    onSuccess: async (made) => {
      const now = draft.settle() ?? stored
      if (now === sent.current) draft.forget()
      else draft.move(draftKeyOf(id, made.id)) // typed while it was saved
      queries.setQueryData(['version', id, 'v' + made.number], made)
      setRef('v' + made.number, true)
      await queries.invalidateQueries()
    },
  })
  if (!prompt.data) return prompt.error ? <Missing title={t.prompt} up={<Up to="prompts">{t.prompts}</Up>} error={prompt.error} /> : <Loading />
  const mayEdit = prompt.data.my_role !== 'viewer'
  const manages = ['manager', 'owner'].includes(prompt.data.my_role)
  const mayMove = prompt.data.protected ? manages : mayEdit
  const again = (n: number) => { setRef('v' + n); setActivating(true) }
  const mayActivate = mayMove || mayEdit && prompt.data.approvals > 0
  return (
    <>
      <Heading title={prompt.data.name} up={<Up to="prompts">{t.prompts}</Up>}>
        {prompt.data.active_version && <Pill tone="ok">{words.activeVersion(prompt.data.active_version.number)}</Pill>}
        {prompt.data.protected && <Pill tone="warn">{words.protected}</Pill>}
        {prompt.data.version_count > 0 && (
          <InlineSelect
            data-steps label={words.version} value={ref} onChange={(e) => setRef(e.target.value)}
            choices={[
              { value: 'latest', label: latest ? words.latestIs(latest) : words.latest },
              ...versions.items.map((v) => ({
                value: 'v' + v.number,
                label: words.versionNumberNumberValue(v.number, v.is_active ? words.active : '', v.labels.length ? ' · ' + v.labels.join(', ') : '', v.reads ? words.readsReadsReads(v.reads.toLocaleString()) : ''),
              })),
            ]}
          />
        )}
        <Menu
          items={[
            mayEdit && { label: words.settingsDialog, onClick: () => setMore('settings') },
            mayMove && { label: words.labelsDialog, disabled: !version.data, onClick: () => { pin(); setLabelling(true) } },
            may('prompt_templates.create') && { label: t.duplicateDialog, onClick: () => setMore('duplicate') },
            prompt.data.my_role === 'owner' && { label: t.deleteDialog, danger: true, onClick: () => setMore('delete') },
          ]}
        />
        {mayActivate && (
          <Button
            tone="act" disabled={!version.data || version.data.is_active || isDraft || (!!prompt.data.active_version && !active.data)}
            onClick={() => { pin(); setActivating(true) }}
          >
            {words.activateDialog}
          </Button>
        )}
      </Heading>
      <Problem error={version.error} />
      <Tabs
        value={tab} onChange={(next) => { draft.settle(); setTab(next) }}
        tabs={[
          {
            id: 'edit', label: t.edit,
            body: (
              <div className="grid gap-6 lg:grid-cols-2">
                <div className="min-w-0">
                  <div className="mb-2 flex min-h-8 items-center gap-2">
                    <h2 className="m-0 me-auto text-base font-semibold">{isChat ? t.messages : words.promptText}</h2>
                    {isDraft && <span className="text-warn">{words.notSavedYet}</span>}
                    {isDraft && <Button tone="quiet" onClick={draft.forget}>{words.discard}</Button>}
                  </div>
                  {'messages' in content
                    ? <Messages key={version.data?.id} messages={content.messages} isBehind={draft.isBehind} {...(mayEdit && { onChange: type })} />
                    : <Editor label={words.promptText} value={text} isBehind={draft.isBehind} {...(mayEdit && { onChange: type })} />}
                  {mayEdit && (
                    <div className="mt-3">
                      <Form saves send={words.saveAsANew} busy={save.isPending || !isDraft} onSend={(v) => save.mutate({ message: v.message ?? '' })}>
                        <Input name="message" label={words.whatChanged} maxLength={500} />
                        {AtriumError.is(save.error, 'base_outdated')
                          ? (
                            <Outdated
                              id={id} draft={readable(text, isChat)} read={(v) => readable(editedOf(v), isChat)}
                              onKeep={(base) => save.mutate({ message: save.variables?.message ?? '', base })}
                            />
                          )
                          : <Problem error={save.error} />}
                      </Form>
                    </div>
                  )}
                </div>
                {version.data && (
                  <div className="min-w-0">
                    {draft.text !== undefined && includesIn(readable(text, isChat))
                      ? <p className="mt-0 text-soft">{t.savedForIncludes}</p>
                      : <Preview version={whole.data ?? version.data} {...(edited && { draft: edited })} />}
                    <Problem error={whole.error} />
                    <Includes version={version.data} whole={whole.data} />
                  </div>
                )}
              </div>
            ),
          },
          {
            id: 'diff', label: words.compare,
            body: (
              <Compare
                id={id} active={prompt.data.active_version?.number} versions={versions.items} read={(v) => readable(editedOf(v), isChat)}
                after={readable(text, isChat)} label={isDraft || !version.data ? words.yourDraft : words.versionNumberNumber(version.data.number)}
                saved={isDraft ? undefined : version.data?.id}
              />
            ),
          },
          { id: 'history', label: t.history, body: <><Ledger id={id} labels={[...new Set(versions.items.flatMap((v) => v.labels))].sort()} {...(mayActivate && !isDraft && { onAgain: again })} /><Reads id={id} /></> },
          ...(mayEdit
            ? [{ id: 'requests', label: prompt.data.open_requests > 0 ? words.requestsOpenRequestsOpen(prompt.data.open_requests) : words.requests, body: <Requests id={id} manages={manages} /> }]
            : []),
          ...(manages
            ? [{ id: 'shares', label: words.shares, body: <PromptShares id={id} owner={prompt.data.my_role === 'owner'} /> }]
            : []),
        ]}
      />
      {more === 'settings' && <Settings prompt={prompt.data} onClose={() => setMore(undefined)} />}
      {more === 'duplicate' && <Duplicate prompt={prompt.data} onClose={() => setMore(undefined)} />}
      {more === 'delete' && <Delete prompt={prompt.data} onClose={() => setMore(undefined)} />}
      {labelling && version.data && (
        <Labels version={version.data} versions={versions.items} onClose={() => setLabelling(false)} />
      )}
      {activating && version.data && (
        <Activate
          version={version.data} active={prompt.data.active_version ? active.data : undefined} required={prompt.data.required_checks}
          manages={manages}
          onClose={() => setActivating(false)}
        />
      )}
    </>
  )
}

function Activate({ version, active: now, required, manages, onClose }: {
  version: PromptVersion
  active: PromptVersion | undefined
  required: string[]
  manages: boolean
  onClose: () => void
}) {
  const workspace = useWorkspace()
  const [seen] = useState(now)
  const activate = useMutation({
    mutationFn: ({ reason, expected, broken, at, bypass }: { reason: string; expected: string | null; broken: boolean; at: string; bypass: boolean }) => atrium.promptTemplates.versions.activate(
      version.prompt_template_id, version.id,
      {
        ...(reason && { reason }), expected_active_version_id: expected, acknowledge_contract_break: broken,
        ...(at && { activate_at: new Date(at).toISOString() }), ...(bypass && { bypass_checks: true }),
      }, { workspace },
    ),
    onSuccess: async ({ activation_request: asked }, { expected }) => {
      onClose()
      if (asked) toast(words.theActivationOfVersion(version.number, asked.waits_for.join(' and ')))
      else toast(words.versionIsActive(version.number), expected === null ? undefined : () => atrium.promptTemplates.versions.activate(
        version.prompt_template_id, expected, { reason: t.undoneReason, expected_active_version_id: version.id }, { workspace },
      ).then(() => queries.invalidateQueries()))
      await queries.invalidateQueries()
    },
    // Another version has become active meanwhile: the dialog compares with that one only now, and asks again.
    onError: () => queries.invalidateQueries(),
  })
  const active = activate.isError ? now : seen
  const broken = AtriumError.is(activate.error, 'contract_break')
  // A break is acknowledged only for the active version that it was found with.
  const expected = (broken ? activate.variables?.expected : active?.id) ?? null
  const names = (v: PromptVersion | undefined) => new Set(v?.variables.map((x) => x.name))
  const before = names(active), after = names(version)
  const added = [...after].filter((n) => !before.has(n)), gone = [...before].filter((n) => !after.has(n))
  const config = JSON.stringify(version.model_config, null, 2), activeConfig = JSON.stringify(active?.model_config ?? {}, null, 2)
  return (
    <Dialog open wide onClose={onClose} title={words.activateVersion(version.number)}>
      <Diff before={readable(editedOf(active), !!version.messages)} after={readable(editedOf(version), !!version.messages)} labels={[active ? words.activeVersionNumber(active.number) : words.nothingIsActive, words.versionNumberNumber(version.number)]} />
      {active && added.length > 0 && <p className="text-bad">{words.newVariablesWhichApplications(added.join(', '))}</p>}
      {gone.length > 0 && <p className="text-warn">{words.variablesThatAreNo(gone.join(', '))}</p>}
      {active && config !== activeConfig && (
        <>
          <h3 className="mb-1 text-sm font-semibold">{words.modelConfiguration}</h3>
          <Diff before={activeConfig} after={config} labels={[words.activeTitle, words.versionNumberNumber(version.number)]} />
        </>
      )}
      <Unfilled id={version.prompt_template_id} version={version.id} />
      <Checks id={version.prompt_template_id} version={version.id} required={required} />
      <Form
        send={broken ? words.activateAllTheSame : words.activate} busy={activate.isPending}
        onSend={(v) => activate.mutate({ reason: v.reason ?? '', expected, broken, at: v.at ?? '', bypass: v.bypass === 'yes' })}
      >
        <Input name="reason" label={t.why} maxLength={500} hint={words.everybodyWhoCanSee} />
        <Input name="at" type="datetime-local" label={t.when} hint={words.inYourTimeZone} />
        {manages && required.length > 0 && (
          <Select
            name="bypass" label={words.requiredChecks} hint={words.bypassingThemNeedsA}
            choices={[{ value: 'no', label: words.waitForThem }, { value: 'yes', label: words.bypassThem }]}
          />
        )}
        <Problem error={activate.error} />
        {broken && <Breaks error={activate.error} />}
      </Form>
    </Dialog>
  )
}

import { AtriumError, type PromptVersion } from '@atrium-hq/client'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { atrium } from '../api'
import { useWorkspace } from '../app/workspace'
import { words } from '../text/prompts'
import { Said } from './prompt-preview'

/** Whether a text has an include. */
export const includesIn = (text: string) => /\{\{\s*>/.test(text)

/** A version with the texts of what it includes, as applications get it. Without includes there is nothing to ask for. */
export function useWhole(version: PromptVersion | undefined) {
  const workspace = useWorkspace()
  return useQuery({
    queryKey: ['version', version?.prompt_template_id, version?.id, 'whole'], enabled: !!version?.includes?.length,
    queryFn: async () => {
      const asked = { prompt_template_id: version!.prompt_template_id, ref: version!.id }
      const { data } = await atrium.promptTemplates.resolve({ refs: [asked] }, { workspace })
      const found = data[0]
      if (found?.version) return found.version
      const { code = 'unexpected_response', detail = '' } = found?.error ?? {}
      throw new AtriumError('promptTemplates.resolve', {
        type: `/problems/${code}`, title: detail, status: 422, detail, code, request_id: '',
      })
    },
  })
}

/** What a version includes, with links to it, and the whole text. */
export function Includes({ version, whole }: { version: PromptVersion; whole: PromptVersion | undefined }) {
  const workspace = useWorkspace()
  const list = whole?.includes ?? version.includes ?? []
  if (list.length === 0) return null
  return (
    <section aria-label={words.includedPrompts} className="mt-4">
      <h2 className="mb-1 text-base font-semibold">{words.includedPrompts}</h2>
      <ul className="m-0 list-none p-0">
        {list.map((i) => (
          <li key={i.name + '@' + i.ref}>
            <Link to={`/w/${workspace}/prompts/${i.prompt_template_id}` as string}>{i.name}</Link>{' '}
            <span className="text-soft">{i.ref}{i.version_number !== null && words.versionVersionNumberVersion(i.version_number)}</span>
            {i.degraded && <p role="alert" className="m-0 text-warn">{words.theIncludeStays}</p>}
          </li>
        ))}
      </ul>
      {whole && (
        <details className="mt-2">
          <summary>{words.theTextWithWhat}</summary>
          <div className="mt-2"><Said text={whole.text} messages={whole.messages} /></div>
        </details>
      )}
    </section>
  )
}

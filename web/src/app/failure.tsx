import { useRouter } from '@tanstack/react-router'
import { signOut } from '../api'
import { t } from '../text'
import { Button, Problem } from '../ui/basics'

/** Replaces the console if it cannot begin, and offers to load it again. */
export function Failure({ error }: { error: unknown }) {
  const router = useRouter()
  return (
    <main className="mx-auto max-w-xl p-8">
      <Problem error={error} />
      <div className="flex gap-2">
        <Button tone="act" onClick={() => void router.invalidate()}>{t.again}</Button>
        <Button onClick={() => void signOut()}>{t.signOut}</Button>
      </div>
    </main>
  )
}

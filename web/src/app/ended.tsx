import { useEffect } from 'react'
import { calls, queries, signIn } from '../api'
import { isTheirs, PROOF } from '../person'
import { t } from '../text'
import { Button } from '../ui/basics'
import { Dialog } from '../ui/overlays'

/**
 * The sheet over a page whose session has ended elsewhere. The page below keeps everything that is typed, and shows none of
 * it to the next person: people sign in in a window of its own, and the page goes on as soon as they have.
 */
export function Ended({ open }: { open: boolean }) {
  useEffect(() => {
    if (!open) return
    const told = (e: StorageEvent) => { if (e.key === PROOF && e.newValue && isTheirs()) resume() } // another window has signed in
    addEventListener('storage', told)
    return () => removeEventListener('storage', told)
  }, [open])
  const elsewhere = () => {
    if (!window.open(new URL('sign-in', document.baseURI), 'atrium_sign_in', 'width=480,height=640')) signIn()
  }
  return (
    <Dialog open={open} title={t.ended}>
      <p data-ended className="mt-0">{t.endedAbout}</p>
      <div className="flex flex-wrap gap-2">
        <Button tone="act" onClick={elsewhere}>{t.signIn}</Button>
        <Button onClick={resume}>{t.signedInAgain}</Button>
      </div>
    </Dialog>
  )
}

function resume() {
  calls.resume()
  void queries.invalidateQueries()
}

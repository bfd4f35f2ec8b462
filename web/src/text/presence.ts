/** What people read on the screen of presence. */
export const words = {
  applicationsReportPeopleWith: 'Applications report people with heartbeats.',
  nobodyIsHereNow: 'Nobody is here now.',
  you: 'you',
  sayThatYouAre: 'Say that you are here',
  whatYouAreDoing: 'What you are doing',
} as const

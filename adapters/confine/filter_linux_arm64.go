package confine

// fstatat is the name of the call by which Go asks about a file.
const fstatat = "fstatat"

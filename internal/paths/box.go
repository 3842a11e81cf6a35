package paths

// Places in the box that inner fills. A profile cannot mount over them.
const (
	BoxDir    = "/run/inner"     // everything that is made for a run
	BoxMarker = "/run/.innerenv" // how inner knows that it is in a box

	BoxNoop      = BoxDir + "/noop"     // the noop shims, first on PATH
	BoxBlocked   = BoxDir + "/blocked"  // a pipe to inner: one line for each blocked call
	BoxStart     = BoxDir + "/start"    // start-up files of shells, which read the user's
	BoxStartPath = BoxStart + "/path"   // a file for sh that puts the noop shims first
	BoxOriginal  = BoxDir + "/original" // the host's start-up files that those cover

	BoxGitConfig = BoxDir + "/gitconfig"       // the user's git settings, cleaned
	BoxGit       = BoxDir + "/git"             // where the box reads the host's objects
	BoxAgents    = BoxDir + "/agents"          // clones that have no place in the box's home
	BoxShell     = BoxDir + "/shell"           // history, and what a shell reads to have it
	BoxConf      = BoxDir + "/containers.conf" // settings of podman, see containers.conf(5)

	BoxCaches    = BoxDir + "/caches"     // caches that have no place in the home
	BoxGoModules = BoxDir + "/go-modules" // Go modules that the host has
	BoxGradle    = BoxDir + "/gradle"     // what Gradle, and Maven, of the host have fetched
	BoxMaven     = BoxDir + "/maven"
	BoxNpm       = BoxDir + "/npmrc"    // npm's settings for all users
	BoxVersions  = BoxDir + "/versions" // of programs that tools of the host have fetched

	BoxTrust = BoxDir + "/certificates" // whose certificates programs take, where inner-proxy puts in logins

	BoxSSHAgent   = BoxDir + "/ssh-agent" // what inner-proxy has of the user's agent
	BoxKnownHosts = BoxDir + "/known_hosts"

	BoxWayland = BoxDir + "/wayland"
	BoxX11     = "/tmp/.X11-unix/X"
	BoxCookie  = BoxDir + "/xauthority"

	// BoxSelf is where the inner binary lies in a box without /proc, in which the
	// supervisor cannot be executed through its descriptor.
	BoxSelf = BoxDir + "/self"
)

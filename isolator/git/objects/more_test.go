package objects

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// What was there and is gone is brought again: a gc outside removes what nothing names.
func TestPrunedOutside(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "", nil)
	blob := f.last("echo staged | git hash-object -w --stdin")
	commit := f.last("echo new >c; git add c; git commit -qm c; git rev-parse HEAD")
	for i, prune := range []string{"git prune --expire=now", "git gc -q --prune=now", "git repack -qad; git prune --expire=now"} {
		for _, err := range []error{f.gate.BringAs("blob", blob), f.gate.Bring(commit)} {
			if err != nil {
				t.Fatal(i, err)
			}
		}
		f.run(f.host, "git cat-file -e "+blob+"; git cat-file -e "+commit+"^{tree}")
		f.run(f.host, prune)
		f.absent(blob)
		f.absent(commit)
	}
	// In a pack outside while the gate's gits have it open, and then gone.
	if err := f.gate.Bring(commit); err != nil {
		t.Fatal(err)
	}
	f.run(f.host, "git tag held "+commit+"; git gc -q --prune=now")
	if err := f.gate.Bring(commit); err != nil {
		t.Fatal(err)
	}
	f.run(f.host, "git tag -d held; git repack -qad; git prune --expire=now")
	f.absent(commit)
	f.land(commit)
}

// An index names files, and nothing else.
func TestBringBlobs(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "", nil)
	for _, c := range []struct{ script, want string }{
		{"git rev-parse HEAD:a", ""},
		{"echo x | git hash-object -w --stdin", ""},
		{"echo x | git hash-object --stdin", ""},
		{"git rev-parse HEAD", "is a commit"},
		{"git rev-parse HEAD:d", "is a tree"},
		{"git commit -q --allow-empty -m x; git rev-parse HEAD", "is a commit"},
		{"echo nowhere | git hash-object --stdin", "neither in"},
		{"printf %064d 1", "SHA-256"},
		{"printf %039d 1", "not the name of an object"},
		{"printf %039dx 1", "not the name of an object"},
		{"printf %040d 0", ""},
	} {
		err := f.gate.BringAs("blob", f.last(c.script))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", c.script, err)
		}
	}
	f.clean()
}

// A file that an index names as .gitmodules is checked as a commit's is, also when it came under another name.
func TestBringModules(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "", nil)
	for _, kind := range []string{Modules, "blob"} {
		evil := f.last(`printf '[submodule "../x"]\npath=s\nurl=./s\n' | git hash-object -w --stdin`)
		good := f.last(`printf '[submodule "s"]\npath=s\nurl=https://example.org/s\n' | git hash-object -w --stdin`)
		_ = f.gate.BringAs(kind, evil)
		if err := f.gate.BringAs(Modules, good, evil); err == nil || !strings.Contains(err.Error(), "gitmodulesName") {
			t.Error(err)
		}
		if err := f.gate.BringAs(Modules, good); err != nil {
			t.Error(err)
		}
	}
	f.clean()
}

// The index of a pack says where known objects are, and lies: nobody looks at it.
func TestPackIndexLies(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "", nil)
	name := f.last(`echo new >c; git add c; git commit -qm c; git repack -qd
		p=$(echo .git/objects/pack/*.pack); chmod u+w ${p%pack}idx; head -c 500 /dev/urandom >${p%pack}idx; echo ` + "$(cat .git/refs/heads/main)")
	f.land(name)
	if out := f.run(f.host, "git show "+name+":c"); out != "new" {
		t.Errorf("%q", out)
	}
	if err := f.gate.Bring(name); err != nil {
		t.Error(err)
	}
}

// A pack that is a link or a FIFO is not there, and one that was refused keeps nothing else from coming.
func TestOddPacks(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "", nil)
	name := f.last(tools + `echo new >c; git add c; git commit -qm c; git repack -qd; rev=$(git rev-parse HEAD)
		cd .git/objects/pack; p=$(echo *.pack); mv $p ../../../../real; ln -s ../../../../real $p
		mkfifo pack-${link//1/2}.pack; mkdir pack-${link//1/3}.pack; echo no pack >pack-${link//1/4}.pack; touch pack-x.pack; echo $rev`)
	if err := f.gate.Bring(name); !errors.Is(err, errMissing) || !strings.Contains(err.Error(), "index-pack") {
		t.Fatalf("%v", err)
	}
	f.run(f.box, "cd .git/objects/pack; p=$(find . -type l); rm $p; cp ../../../../real $p")
	f.land(name)
	f.run(f.box, "rm -r .git/objects/pack; mv ../host/.git/objects/pack ../hp; ln -s / .git/objects/pack; mv ../hp ../host/.git/objects/pack")
	if err := f.gate.Bring(strings.Repeat("2", 40)); !errors.Is(err, errMissing) {
		t.Errorf("%v", err)
	}
	f.clean()
}

// Many objects at once, and folders as deep as git goes.
func TestLarge(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("makes 20,000 objects")
	}
	f := newFixture(t, "", nil)
	f.land(f.last(`mkdir many; cd many; seq 20000 | split -l1 -a4; git add .; git commit -qm many; git rev-parse HEAD`))
	deep := func(levels int) string {
		return f.last(tools + fmt.Sprintf(`export GIT_INDEX_FILE=$PWD/../index%[1]d; printf '100644 %%s\t%%sf\n' $blob $(printf 'd/%%.0s' $(seq %[1]d)) | git update-index --add --index-info
			commit $(git write-tree) -p $head`, levels))
	}
	f.land(deep(2000))
	if err := f.gate.Bring(deep(2100)); err == nil || !strings.Contains(err.Error(), "deeper") {
		t.Errorf("%v", err)
	}
}

// Trees that are in each other in many ways are so many files.
func TestManyWays(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "", nil)
	f.land(f.last(tools + `t=$(entry 100644 f $blob | raw tree); for i in $(seq 10); do t=$({ entry 40000 a $t; entry 40000 b $t; } | raw tree); done
		commit $t -p $head`))
}

// A shallow host stays shallow, and its history ends where it ended.
func TestShallow(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "for i in 1 2 3; do echo $i >a; git commit -qam $i; done; cd ..; mv host whole; git clone -q --depth 1 file://$PWD/whole host", nil)
	f.land(f.last("echo new >c; git add c; git commit -qm c; git rev-parse HEAD"))
	f.land(f.last("echo newer >c; git commit -qam c; git repack -qd; git rev-parse HEAD"))
	if n := f.run(f.host, "git rev-list --all | wc -l"); n != "3" {
		t.Errorf("%s commits", n)
	}
	if err := f.gate.Bring(f.run(f.home+"/whole", "git rev-parse HEAD~2")); !errors.Is(err, errMissing) {
		t.Errorf("%v", err)
	}
}

// In a partial clone what is missing stays missing: nothing is fetched.
func TestPartial(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "echo two >a; git commit -qam two; cd ..; mv host whole; git -C whole config uploadpack.allowFilter true; git clone -q --filter=blob:none file://$PWD/whole host", func(o *Gate) { o.Partial = true })
	old := f.run(f.home+"/whole", "git rev-parse HEAD~1:a")
	f.land(f.last("echo new >c; git add c; git commit -qm c; git rev-parse HEAD"))
	if err := f.gate.BringAs("blob", old); !errors.Is(err, errMissing) {
		t.Errorf("%v", err)
	}
	f.absent(old)
	// A pack that a fetch made names what is missing as well. Without its marker it lacks something.
	f.run(f.home+"/whole", "for i in $(seq 40); do mkdir e$i; echo $i >e$i/f; done; git add .; git commit -qm three; echo 3 >a; git commit -qam four")
	name := f.last(`git remote add origin file://$PWD/../whole; git config remote.origin.promisor true; git config remote.origin.partialclonefilter blob:none
		git config core.repositoryformatversion 1; git config extensions.partialclone origin; git -c fetch.unpackLimit=1 fetch -q origin main; mkdir ../kept; mv .git/objects/pack/*.promisor ../kept; git rev-parse FETCH_HEAD`)
	if err := f.gate.Bring(name); err == nil {
		t.Error("a pack that lacks something came over")
	}
	f.run(f.box, "mv ../kept/* .git/objects/pack")
	f.land(name)
}

// What the host had is told from what boxes brought, also after another gate brought it.
func TestHostHad(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "git switch -qc side; echo side >d/b; git commit -qam side; git switch -q main; git merge -q --no-ff -s ours -m merged side; git branch -qD side", nil)
	had := func(path, content string, want bool) {
		t.Helper()
		blob := f.run(f.box, "printf '%s\n' "+content+" | git hash-object --stdin")
		if got := f.gate.HostHad(path, blob); got != want {
			t.Errorf("%s at %s: %v", content, path, got)
		}
	}
	had("a", "one", true)
	had("d/b", "two", true)
	had("d/b", "side", true)
	had("b", "one", false)
	had("d", "two", false)
	had("d/b", "one", false)
	had(":(glob)*", "one", false)
	name := f.last("echo evil >a; git commit -qam evil; git rev-parse HEAD")
	if err := f.gate.Bring(name); err != nil {
		t.Fatal(err)
	}
	f.run(f.host, "git merge -q --ff-only "+name)
	had("a", "evil", false)
	f.run(f.host, "echo mine >a; git commit -qam mine")
	had("a", "mine", true)
	had("a", "evil", false)
	f.run(f.host, "git checkout -q --detach; echo evil >a; git commit -qam again; git commit --allow-empty -qm more")
	had("a", "evil", true)
}

// Files get the modes that git gives them.
func TestModes(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "", nil)
	blob := f.last("echo x | git hash-object -w --stdin")
	if err := f.gate.BringAs("blob", blob); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(f.host + "/.git/objects/" + blob[:2] + "/" + blob[2:]); err != nil || info.Mode().Perm() != 0o444 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if info, err := os.Stat(f.host + "/.git/objects/" + blob[:2]); err != nil || info.Mode().Perm()&0o700 != 0o700 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

// Settings, hooks and replaced objects of the host's do not reach the git that looks.
func TestSettings(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `git config core.fsmonitor "touch $PWD/../ran"; git config fsck.gitmodulesUrl ignore; git replace HEAD:a HEAD:d/b; git config core.alternateRefsCommand "touch $PWD/../ran"`, nil)
	name := f.last(`printf '[submodule "s"]\npath=s\nurl=-u./payload\n' >.gitmodules; git add .gitmodules; git commit -qm m; git rev-parse HEAD`)
	if err := f.gate.Bring(name); err == nil {
		t.Error("it came over")
	}
	name = f.last("git reset -q --hard HEAD~; git reflog expire --expire=now --all; echo new >c; git add c; git commit -qm c; git repack -qd; git rev-parse HEAD")
	if err := f.gate.Bring(name); err != nil {
		t.Error(err)
	}
	if f.gate.HostHad("a", name) {
		t.Error("the host had a commit in the place of a file")
	}
	if _, err := os.Lstat(f.home + "/ran"); err == nil {
		t.Error("a command of the host's settings ran")
	}
}

func BenchmarkOne(b *testing.B) {
	f := newFixture(b, "mkdir x; for i in $(seq 300); do echo $i >x/$i; done; git add .; git commit -qm many", nil)
	for b.Loop() {
		b.StopTimer()
		names := strings.Fields(f.run(f.box, "date +%N >x/1; git commit -qam x; git rev-parse HEAD:x/1 HEAD"))
		b.StartTimer()
		if err := errors.Join(f.gate.BringAs("blob", names[0]), f.gate.Bring(names[1])); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMany(b *testing.B) {
	f := newFixture(b, "", nil)
	for b.Loop() {
		b.StopTimer()
		name := f.last("d=$(date +%N); mkdir $d; for i in $(seq 2000); do echo $d $i >$d/$i; done; git add .; git commit -qm x; git rev-parse HEAD")
		b.StartTimer()
		if err := f.gate.Bring(name); err != nil {
			b.Fatal(err)
		}
	}
}

// What git says of commits is taken for all of it when each commit is there, in order, and no line is odd.
func TestChanges(t *testing.T) {
	t.Parallel()
	one, two := strings.Repeat("1", 40), strings.Repeat("2", 40)
	added := ":000000 160000 " + strings.Repeat("0", 40) + " " + two + " A\x00d/sub\x00"
	merged := "::160000 100644 160000 " + one + " " + one + " " + two + " MM\x00s\x00"
	for _, c := range []struct{ name, text, want string }{
		{"all", one + "\x00" + added + merged + two + "\x00.\n", ""},
		{"a tree", one + " " + two + "\n" + added + merged + ".\n", ""},
		{"the second passed over", one + "\x00" + added + merged + ".\n", "is passed over"},
		{"another", two + "\x00" + one + "\x00.\n", "is no answer"},
		{"more", one + "\x00" + two + "\x00" + two + "\x00.\n", "is no answer"},
		{"cut off", one + "\x00" + added, "EOF"},
		{"an object less", one + "\x00" + "::160000 100644 160000 " + one + " " + two + " MM\x00s\x00" + two + "\x00.\n", "is no answer"},
	} {
		var paths []string
		err := readChanges(bufio.NewReader(strings.NewReader(c.text)), []string{one, two}, func(c change) error {
			paths = append(paths, fmt.Sprint(c.path, c.name, c.mode, c.was))
			return nil
		})
		if c.want == "" && (err != nil || fmt.Sprint(paths) != "[d/subsub160000[000000] ss160000[160000 100644]]") || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v %v", c.name, paths, err)
		}
	}
}

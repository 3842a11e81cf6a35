package profile

import (
	"cmp"
	"path/filepath"
	"slices"

	"github.com/enr/inner/internal/paths"
)

// DeviceSet is a named set of device nodes that [sandbox] devices takes. A mount
// cannot give one: what bwrap binds from the host is mounted nodev, but for
// --dev-bind (bwrap(1)).
type DeviceSet struct {
	Name  string
	What  string
	Nodes []string // paths and patterns below /dev; what is not there is passed over
	Sys   []string // folders of /sys that programs look into to find them
}

// DeviceSets returns the sets, by name. None of them is a disk, the memory, a terminal
// or an input device: whoever has one of these has the computer.
func DeviceSets() []DeviceSet {
	return []DeviceSet{
		{"fuse", "file systems made by programs", []string{"/dev/fuse"}, nil},
		{
			"gpu", "graphics cards and computing on them",
			[]string{"/dev/dri", "/dev/kfd", "/dev/nvidia[0-9]*", "/dev/nvidiactl", "/dev/nvidia-modeset", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-caps", "/dev/dxg"},
			[]string{"/sys/devices", "/sys/dev/char", "/sys/class/drm", "/sys/class/kfd", "/sys/bus/pci", "/sys/module"},
		},
		{"kvm", "virtual machines", []string{"/dev/kvm"}, nil},
		{
			"serial", "boards and adapters on a serial line",
			[]string{"/dev/ttyUSB*", "/dev/ttyACM*", "/dev/serial"},
			[]string{"/sys/devices", "/sys/dev/char", "/sys/class/tty"},
		},
		{"sound", "sound cards, the microphone among them", []string{"/dev/snd"}, []string{"/sys/devices", "/sys/dev/char", "/sys/class/sound"}},
		{"tun", "network interfaces made by programs", []string{"/dev/net/tun"}, nil},
		{"usb", "everything on USB that you may use", []string{"/dev/bus/usb"}, []string{"/sys/devices", "/sys/dev/char", "/sys/bus/usb"}},
		{"vhost", "fast networks of virtual machines", []string{"/dev/vhost-net", "/dev/vhost-vsock"}, nil},
		{"video", "cameras", []string{"/dev/video[0-9]*", "/dev/media[0-9]*", "/dev/v4l"}, []string{"/sys/devices", "/sys/dev/char", "/sys/class/video4linux"}},
	}
}

// FindDevices returns the set of that name.
func FindDevices(name string) (set DeviceSet, ok bool) {
	for _, s := range DeviceSets() {
		if s.Name == name {
			return s, true
		}
	}
	return set, false
}

// deviceNames are the words that [sandbox] devices takes.
func deviceNames() []string {
	return eachOf(DeviceSets(), func(s DeviceSet) string { return s.Name })
}

// deviceHint is what to write in the place of a mount of a device.
func deviceHint(path string) string {
	return cmp.Or(DevicesOf(path), `devices = ["kvm", "fuse", "gpu", …] under [sandbox] gives a box devices by name`)
}

// DevicesOf is the line that gives a box the device at a path; "" for what no set has.
func DevicesOf(path string) string {
	for _, s := range DeviceSets() {
		if slices.ContainsFunc(s.Nodes, func(p string) bool { return matched(p, path) || paths.Below(p, path) }) {
			return `devices = ["` + s.Name + `"] under [sandbox]`
		}
	}
	return ""
}

func matched(pattern, path string) bool {
	ok, err := filepath.Match(pattern, path)
	return ok && err == nil
}

func deviceWords(name string) string {
	set, _ := FindDevices(name)
	return name + " (" + set.What + ")"
}

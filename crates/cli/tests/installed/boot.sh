#!/bin/sh
# boot.sh FOLDER PACKAGE: boots systemd with nothing but the package's unit, and runs check.sh in
# it. All is in namespaces of its own, over a view of this system's files that is thrown away.
# Called by root; what is told goes into FOLDER.
set -eu
folder=$1 package=$2 step=${3-outside}

case $step in
outside)
    # Control groups are not the namespace's alone: one below ours is made, and removed in the end.
    exec unshare --mount --propagation private sh "$0" "$folder" "$package" grouped
    ;;
grouped)
    mkdir -p "$folder/groups"
    mount -t cgroup2 cgroup2 "$folder/groups"
    group=$folder/groups/plumbline-test-$$
    mkdir "$group"
    code=0
    sh -ec 'echo $$ > "$0/cgroup.procs"
        exec timeout --signal KILL 300 unshare --mount --propagation private --pid --fork \
            --kill-child --cgroup --ipc --uts --net sh "$@" inside' \
        "$group" "$0" "$folder" "$package" || code=$?
    find "$group" -depth -type d -exec rmdir {} +
    exit $code
    ;;
esac

mount -t proc proc /proc
mount -t sysfs -o ro sysfs /sys
mount -t tmpfs tmpfs /run
for top in usr etc var; do
    mkdir -p /run/over/$top/upper /run/over/$top/work
    mount -t overlay overlay -o lowerdir=/$top,upperdir=/run/over/$top/upper \
        -o workdir=/run/over/$top/work /$top
done
# The kernel's settings are the machine's, but for those of this network.
mount --bind /proc/sys /proc/sys
mount -o remount,bind,ro /proc/sys
mkdir /run/proc
mount -t proc proc /run/proc
mount --bind /run/proc/sys/net /proc/sys/net
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mkdir /run/dev
mount -t tmpfs tmpfs /run/dev
mkdir /run/dev/shm /run/dev/pts /run/dev/net
for device in null zero full random urandom tty net/tun; do
    [ -e /dev/$device ] || continue
    : > /run/dev/$device
    mount --bind /dev/$device /run/dev/$device
done
: > "$folder/console"
: > /run/dev/console
mount --bind "$folder/console" /run/dev/console
mount --move /run/dev /dev

# Nothing of this system is started: of its units there are only names.
mkdir /run/units
for target in sysinit basic multi-user shutdown network umount final; do
    printf '[Unit]\nDefaultDependencies=no\n' > /run/units/$target.target
done
ln -s /usr/lib/systemd/system/plumbline@.service /run/units/
# There is no journal.
mkdir /run/units/plumbline@.service.d
printf '[Service]\nStandardOutput=append:%s\n' "$folder/log" \
    > /run/units/plumbline@.service.d/log.conf
cat > /run/units/check.target <<UNIT
[Unit]
DefaultDependencies=no
Wants=check.service
UNIT
cat > /run/units/check.service <<UNIT
[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
Environment=PATH=/usr/sbin:/usr/bin:/sbin:/bin
ExecStart=sh $(dirname "$0")/check.sh $folder
ExecStopPost=systemctl --force exit
StandardOutput=append:$folder/told
StandardError=inherit
UNIT

# What this system forbids to packages (containers do) is not what is tested.
rm -f /usr/sbin/policy-rc.d
dpkg --install "$package" > "$folder/installed"
systemd-analyze verify --man=no plumbline@bridge.service > "$folder/verified" 2>&1
exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin SYSTEMD_LOG_TARGET=console \
    SYSTEMD_UNIT_PATH=/run/units /usr/lib/systemd/systemd --system --unit=check.target

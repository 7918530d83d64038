#!/bin/sh
# check.sh FOLDER: what an operator does with the unit, within the systemd of boot.sh. The last line
# is `done`.
set -eux

of() { systemctl show --property "$1" --value "plumbline@$2"; }

# until_it_says UNIT WORDS: waits until the unit's status says so, for ten seconds.
until_it_says() {
    set +x
    for _ in $(seq 100); do
        case $(of StatusText "$1") in *"$2"*) set -x; return 0 ;; esac
        sleep 0.1
    done
    systemctl status "plumbline@$1"
    return 1
}

# Two hosts for each bridge, one at each end.
ip link set lo up
hosts() {
    number=$1
    for side in 1 2; do
        ip netns add "host$number$side"
        ip link add "eth$number$side" type veth peer name end netns "host$number$side"
        ip link set "eth$number$side" up
        ip -n "host$number$side" address add "10.9.0.$side/24" dev end
        ip -n "host$number$side" link set end up
    done
}
reach() { ip netns exec "host${1}1" busybox ping -c 3 -W 5 10.9.0.2; }
hosts 1
hosts 2

# The file that comes with the package, with the names of these interfaces.
sed -i 's/eth1/eth11/; s/eth2/eth12/' /etc/plumbline/bridge.yaml
# When the unit is started it forwards: nobody waits.
systemctl start plumbline@bridge
test "$(of ActiveState bridge)" = active
test "$(of StatusText bridge)" = forwards
reach 1
plumbline show --name bridge --json | tr -d ' \n' | grep '"forwarded":[1-9]'

# What needs other capabilities: ports of other kinds, interfaces of the host, one of them in a
# namespace, and a port of TCP below 1024.
cat > /etc/plumbline/xdp.yaml <<FILE
function: {name: l2-switch}
ports:
  downlink: {type: af-xdp, interface: eth21}
  uplink: {type: af-xdp, interface: eth22}
workers: {idle: sleep}
FILE
systemctl start plumbline@xdp
reach 2
if [ -e /dev/net/tun ]; then
    ip netns add routing
    cat > /etc/plumbline/router.yaml <<FILE
function:
  name: l3-router
  resolve: true
  ports:
    - {name: ge-1, mac: "02:00:00:00:01:01", ip: 192.0.2.1/24, host-interface: ge1}
    - {name: ge-2, mac: "02:00:00:00:01:02", ip: 198.51.100.1/24}
  interfaces:
    - {port: ge-2, vlan: 7, ip: 203.0.113.1/24, host-interface: {name: ge2.7, namespace: routing}}
ports:
  ge-1: {type: tap, interface: left}
  ge-2: {type: tap, interface: right}
workers: {idle: sleep}
FILE
    systemctl start plumbline@router
    ip link show left
    ip address show ge1 | grep 192.0.2.1/24
    ip -n routing address show ge2.7 | grep 203.0.113.1/24
fi
cat > /etc/plumbline/reflector.yaml <<FILE
controllers:
  - name: route-reflector
    as: 64500
    identifier: 10.0.0.1
    listen: ["127.0.0.1:179"]
    peers:
      - {address: 127.0.0.2, client: true}
FILE
systemctl start plumbline@reflector
ss --listening --tcp --numeric | grep '127.0.0.1:179 '

# A reload: the new keys, or the reason why there are none.
station='stations: [{mac: 0a:00:00:00:00:01, port: uplink}]'
sed -i "s/ageing-s: 60/&, $station/" /etc/plumbline/bridge.yaml
systemctl reload plumbline@bridge
until_it_says bridge 'its file was read again'
plumbline show config --name bridge --json | tr -d ' \n' | grep 0a:00:00:00:00:01
sed -i 's/idle: sleep/idle: yield/' /etc/plumbline/bridge.yaml
systemctl reload plumbline@bridge
until_it_says bridge 'reload refused, nothing has changed: /etc/plumbline/bridge.yaml: workers'
test "$(of ActiveState bridge)" = active

# One that was killed comes back, and forwards.
systemctl kill --signal KILL plumbline@bridge
for _ in $(seq 100); do
    [ "$(of NRestarts bridge)" = 1 ] && [ "$(of ActiveState bridge)" = active ] && break
    sleep 0.1
done
test "$(of NRestarts bridge)" = 1
reach 1

# A file that is wrong is told once.
echo 'function: {name: nothing}' > /etc/plumbline/wrong.yaml
if systemctl start plumbline@wrong; then exit 1; fi
test "$(of ActiveState wrong)" = failed
test "$(of ExecMainStatus wrong)" = 2
test "$(of NRestarts wrong)" = 0

# The end is one in good order, and the state is kept.
systemctl stop plumbline@bridge
test "$(of Result bridge)" = success
test -s /var/lib/plumbline/bridge.state
test ! -e /run/plumbline/bridge.sock
systemctl start plumbline@bridge

# What runs is stopped before its program goes; what people wrote stays, and nothing else.
dpkg --purge plumbline
test "$(of ActiveState bridge)" = inactive
if pgrep -x plumbline; then exit 1; fi
set +x
cd /run/over
find etc/upper usr/upper var/upper -name '*plumbline*' -not -type c -not -path '*/dpkg/*' \
    | sed 's,^\([a-z]*\)/upper,left: /\1,'
find /etc/plumbline -type f | sed 's/^/left: /'
echo done

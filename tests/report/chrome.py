"""chrome.py - Chromium without a window, driven through its debugging pipe.

Only Python's own library: the protocol is JSON messages ended by a NUL byte, written
to the browser's file descriptor 3 and read from its descriptor 4.
"""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
         '--disable-background-networking', '--disable-component-update', '--disable-sync',
         '--disable-dev-shm-usage', '--hide-scrollbars', '--remote-debugging-pipe']


def find():
    for name in ('chromium', 'chromium-browser', 'google-chrome'):
        if shutil.which(name):
            return shutil.which(name)
    return None


class Chrome:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix='mete-chrome-')  # and all that it writes
        to_child, self.to = os.pipe()
        self.back, from_child = os.pipe()
        # The browser wants its pipes at 3 and 4; a shell puts them there.
        command = ['sh', '-c', f'exec "$0" "$@" 3<&{to_child} 4>&{from_child}', find(), *FLAGS,
                   f'--user-data-dir={self.folder}', 'about:blank']
        self.process = subprocess.Popen(command, pass_fds=(to_child, from_child),
                                        env=dict(os.environ, TMPDIR=self.folder), stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        os.close(to_child)
        os.close(from_child)
        self.buffer, self.number, self.events, self.session = b'', 0, [], None
        target = self.call('Target.createTarget', url='about:blank')['targetId']
        self.session = self.call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.call(domain + '.enable')

    def read(self, deadline):
        while b'\0' not in self.buffer:
            if not select.select([self.back], [], [], max(0, deadline - time.time()))[0]:
                raise TimeoutError('the browser does not answer')
            piece = os.read(self.back, 1 << 20)
            if not piece:
                raise EOFError('the browser is gone')
            self.buffer += piece
        message, self.buffer = self.buffer.split(b'\0', 1)
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        message = {'id': self.number, 'method': method, 'params': params}
        if self.session:
            message['sessionId'] = self.session
        data = json.dumps(message).encode() + b'\0'
        while data:
            data = data[os.write(self.to, data):]
        deadline = time.time() + 60
        while True:
            answer = self.read(deadline)
            if answer.get('id') == self.number:
                if 'error' in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer['result']
            self.events.append(answer)

    def open(self, path, width=1280, height=900, dark=False, scripts=True):
        self.events = []
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)
        self.call('Emulation.setEmulatedMedia',
                  features=[{'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}])
        self.call('Emulation.setScriptExecutionDisabled', value=not scripts)
        self.call('Page.navigate', url='file://' + os.path.abspath(path))
        deadline = time.time() + 60
        while not any(e.get('method') == 'Page.loadEventFired' for e in self.events):
            self.events.append(self.read(deadline))

    def run(self, expression):
        result = self.call('Runtime.evaluate', expression=expression, returnByValue=True,
                           awaitPromise=True)
        if 'exceptionDetails' in result:
            raise RuntimeError(json.dumps(result['exceptionDetails'])[:500])
        return result['result'].get('value')

    def wait(self, expression, seconds=60):
        deadline = time.time() + seconds
        while time.time() < deadline:
            if self.run(expression):
                return True
            time.sleep(0.1)
        return False

    def complaints(self):
        """Errors and warnings of the console, uncaught exceptions, requests over the network."""
        self.run('1')
        found = []
        for e in self.events:
            p = e.get('params', {})
            if e.get('method') == 'Runtime.consoleAPICalled' and p['type'] in ('error', 'warning', 'assert'):
                found.append(' '.join(str(a.get('value', a.get('description'))) for a in p['args']))
            if e.get('method') == 'Runtime.exceptionThrown':
                found.append(p['exceptionDetails'].get('exception', {}).get('description', 'exception'))
            if e.get('method') == 'Log.entryAdded' and p['entry']['level'] in ('error', 'warning'):
                found.append(p['entry']['text'])
            if e.get('method') == 'Network.requestWillBeSent':
                url = p['request']['url']
                if not url.startswith(('file:', 'data:', 'blob:')):
                    found.append('asked the network for ' + url)
        return found

    def screenshot(self, path, full=True):
        data = self.call('Page.captureScreenshot', format='png', captureBeyondViewport=full)['data']
        with open(path, 'wb') as f:
            f.write(base64.b64decode(data))

    def pdf(self):
        return base64.b64decode(self.call('Page.printToPDF', printBackground=True)['data'])

    def close(self):
        self.process.terminate()
        self.process.wait()
        os.close(self.to)
        os.close(self.back)
        for _ in range(100):  # its helpers end a little later, and write until then
            shutil.rmtree(self.folder, ignore_errors=True)
            if not os.path.exists(self.folder):
                break
            time.sleep(0.05)
